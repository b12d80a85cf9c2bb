"""Writes vectors.json: tasks of Reasoning Gym, answers to them, and its scores.

pip install reasoning-gym==0.1.25; python export.py
"""

import json
import random
import warnings
from importlib.metadata import version

import reasoning_gym

warnings.filterwarnings("ignore")
rng = random.Random(14)


def countdown_answers(entry):
    answer, numbers = entry["answer"], entry["metadata"]["numbers"]
    target = entry["metadata"]["target"]
    shuffled = numbers[:]
    rng.shuffle(shuffled)
    return [
        answer,
        f" ( {answer} ) \n",
        "+".join(map(str, numbers)),
        rng.choice(["-", "*"]).join(map(str, shuffled)),
        f"({answer})+{numbers[0]}-{numbers[0]}",
        f"{answer}+1",
        str(target),
        rng.choice(
            [
                "",
                "   ",
                f"{answer} = {target}",
                "(" + answer,
                answer + " +",
                "I do not know",
                answer.replace("*", "×") + " ÷ 1",
                f"x + {numbers[0]}",
                " ".join(map(str, numbers)),
                "/".join(map(str, numbers)) + "/0",
                "-(" + "-".join(map(str, numbers)) + ")",
                f"{numbers[0]}**2",
                f"{target}.0",
                ",".join(map(str, numbers)),
                f"<answer>{answer}</answer>",
                f"{numbers[0]}//1",
                "$" + answer + "$",
            ]
        ),
    ]


def sudoku_answers(entry):
    answer = entry["answer"]
    lines = answer.split("\n")
    wrong = [line.split() for line in lines]
    for _ in range(rng.randint(1, 30)):
        wrong[rng.randrange(9)][rng.randrange(9)] = str(rng.randint(1, 9))
    wrong = "\n".join(" ".join(row) for row in wrong)
    puzzle = "\n".join(" ".join(str(v) if v else "_" for v in row) for row in entry["metadata"]["puzzle"])
    return [
        answer,
        "\n".join(line + "  " for line in lines),
        answer.replace(" ", ""),
        wrong,
        wrong + "\n" + answer,
        rng.choice(
            [
                "",
                " ",
                puzzle,
                "\n".join(lines[:5]),
                "Here it is:\n" + answer,
                "\n\n".join(lines),
                "|".join(lines),
                "\n".join("| " + line.replace(" ", " | ") + " |" for line in lines),
                answer.replace("\n", "\r\n"),
                "no",
                "\n".join(reversed(lines)),
                "1 2 3 4 5 6 7 8 9\n" * 9,
            ]
        ),
    ]


def export(name, answers_of, keep):
    data = reasoning_gym.create_dataset(name, size=200, seed=14)
    tasks = []
    for entry in data:
        answers = answers_of(entry)
        scores = [float(data.score_answer(answer, entry)) for answer in answers]
        metadata = {key: entry["metadata"][key] for key in keep}
        tasks.append({"answer": entry["answer"], **metadata, "answers": answers, "scores": scores})
    return tasks


vectors = {
    "source": f"reasoning-gym {version('reasoning-gym')}, Apache-2.0",
    "countdown": export("countdown", countdown_answers, ["numbers", "target"]),
    "sudoku": export("sudoku", sudoku_answers, ["puzzle", "solution"]),
}
with open("vectors.json", "w") as file:
    file.write("{\n" + ",\n".join(
        f'"{key}": ' + (json.dumps(value) if isinstance(value, str) else "[\n" + ",\n".join(json.dumps(task, default=str) for task in value) + "\n]")
        for key, value in vectors.items()) + "\n}\n")
