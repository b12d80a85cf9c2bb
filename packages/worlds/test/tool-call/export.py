"""Writes rows of BFCL v4 to data/bfcl.json, and vectors.json: calls and the verdicts of BFCL's checker.

pip download --no-deps bfcl-eval==2026.3.23; unzip bfcl_eval-*.whl -d bfcl; python export.py bfcl
"""

import copy
import enum
import json
import random
import sys
import types
from pathlib import Path

root = Path(sys.argv[1]) / "bfcl_eval"
here = Path(__file__).parent
rng = random.Random(14)


class Language(enum.Enum):
    PYTHON = 1
    JAVA = 2
    JAVASCRIPT = 3


class Anything(dict):
    def __missing__(self, key):
        return types.SimpleNamespace(underscore_to_dot=False)


def module(name, **contents):
    made = types.ModuleType(name)
    made.__dict__.update(contents)
    sys.modules[name] = made


for name in ["bfcl_eval", "bfcl_eval.constants", "bfcl_eval.eval_checker", "bfcl_eval.eval_checker.ast_eval", "bfcl_eval.eval_checker.ast_eval.type_convertor"]:
    module(name)
module("bfcl_eval.constants.enums", Language=Language)
module("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING=Anything())
module("bfcl_eval.constants.type_mappings", JAVA_TYPE_CONVERSION={}, JS_TYPE_CONVERSION={})
module("bfcl_eval.eval_checker.ast_eval.type_convertor.java_type_converter", java_type_converter=None)
module("bfcl_eval.eval_checker.ast_eval.type_convertor.js_type_converter", js_type_converter=None)
checker = {}
exec((root / "eval_checker/ast_eval/ast_checker.py").read_text(), checker)


def read(name):
    return [json.loads(line) for line in (root / "data" / name).read_text().splitlines()]


def rows_of(category, count):
    answers = {row["id"]: row["ground_truth"] for row in read(f"possible_answer/BFCL_v4_{category}.json")}
    rows = [row for row in read(f"BFCL_v4_{category}.json") if len(row["question"]) == 1 and len(row["question"][0]) == 1]
    kept = sorted(rng.sample(rows, count), key=lambda row: int(row["id"].split("_")[-1]))
    return [
        {"id": row["id"], "question": row["question"][0][0]["content"], "functions": row["function"], "answers": answers[row["id"]]}
        for row in kept
    ]


def right_call(answer):
    name, params = next(iter(answer.items()))
    return {name: {k: nested(rng.choice([v for v in vs if v != ""] or [""])) for k, vs in params.items() if "" not in vs or (rng.random() < 0.3 and any(v != "" for v in vs))}}


def nested(value):
    """Values within objects are lists of accepted values."""
    if isinstance(value, dict):
        return {k: rng.choice([v for v in vs if v != ""] or [""]) for k, vs in value.items() if "" not in vs}
    if isinstance(value, list):
        return [nested(v) if isinstance(v, dict) else v for v in value]
    return value


def spoil(value):
    if isinstance(value, bool):
        return rng.choice([not value, str(value)])
    if isinstance(value, (int, float)):
        return rng.choice([value + 1, str(value), -value, value])
    if isinstance(value, str):
        return rng.choice([value.upper(), value.replace(" ", ""), value + ".", value + " x", "", 7, value.replace("-", " ")])
    if isinstance(value, list):
        return rng.choice([value[:-1], value + value[:1], list(reversed(value)), "none"])
    return rng.choice([{}, {**value, "more": 1}, "none"])


def variants(row):
    right = [right_call(answer) for answer in row["answers"]]
    yield right
    yield list(reversed(right))
    for _ in range(2):
        calls = copy.deepcopy(right)
        call = rng.choice(calls)
        params = next(iter(call.values()))
        if params:
            key = rng.choice(list(params))
            params[key] = spoil(params[key])
        yield calls
    calls = copy.deepcopy(right)
    change = rng.choice(["drop", "twice", "name", "extra", "missing"])
    params = next(iter(calls[0].values()))
    if change == "drop":
        calls = calls[1:]
    elif change == "twice":
        calls = calls + calls[:1]
    elif change == "name":
        calls[0] = {"other": params}
    elif change == "extra":
        params["unheard_of"] = 1
    elif params:
        params.pop(rng.choice(list(params)))
    yield calls


def verdict(row, calls):
    category = row["id"].rsplit("_", 1)[0]
    try:
        result = checker["ast_checker"](row["functions"], calls, row["answers"], Language.PYTHON, category, "m")
    except (KeyError, AttributeError, TypeError, IndexError):
        return None
    return result["valid"]


rows = rows_of("simple_python", 150) + rows_of("multiple", 100) + rows_of("parallel", 60) + rows_of("parallel_multiple", 60)
with open(here / "../../data/bfcl.json", "w") as file:
    lines = ",\n".join(json.dumps(json.dumps(row, ensure_ascii=False), ensure_ascii=False) for row in rows)
    file.write('{\n"source": "Berkeley Function Calling Leaderboard v4, bfcl-eval 2026.3.23",\n"license": "Apache-2.0",\n"rows": [\n' + lines + "\n]\n}\n")
cases = []
for row in rows:
    for calls in variants(row):
        valid = verdict(row, calls)
        if valid is not None:
            cases.append({"id": row["id"], "calls": [{"name": n, "arguments": a} for c in calls for n, a in c.items()], "valid": valid})
with open(here / "vectors.json", "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
print(len(rows), len(cases), sum(case["valid"] for case in cases))
