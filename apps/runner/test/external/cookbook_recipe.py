"""Runs an unchanged recipe of the cookbook with arithmetic tasks as its data set: cookbook_recipe.py MODULE KEY=VALUE..."""
import runpy, sys
import datasets

rows = [(a, b) for a in range(1, 13) for b in range(1, 13)]
tables = {
    "openai/gsm8k": [{"question": f"{a} + {b}", "answer": f"{a} + {b} = {a + b}\n#### {a + b}"} for a, b in rows],
    "HuggingFaceH4/no_robots": [
        {"messages": [{"role": "user", "content": f"{a} + {b}"}, {"role": "assistant", "content": str(a + b)}]}
        for a, b in rows
    ],
}
datasets.load_dataset = lambda name, *_, **__: datasets.DatasetDict(
    {split: datasets.Dataset.from_list(tables[name] * 4) for split in ("train", "test")}
)
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
