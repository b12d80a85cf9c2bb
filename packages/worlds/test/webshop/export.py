"""Writes vectors.json: purchases, goals, and the rewards that WebShop's own functions give them.

git clone https://github.com/princeton-nlp/WebShop; pip install thefuzz==0.22.1; python export.py WebShop

Nouns are a fixed list here, because the language model that finds them in WebShop is a separate download.
"""

import json
import random
import sys
import types
from pathlib import Path

source = Path(sys.argv[1])
NOUNS = set("shoes sneakers trainers shirt tee lamp bars cream serum lotion headphones earbuds chair stool bed cushion tent case cover pan wok curtains panels valance".split())


class Token:
    def __init__(self, text):
        self.text = text
        self.pos_ = "NOUN" if text.lower() in NOUNS else "ADJ"


spacy = types.ModuleType("spacy")
spacy.load = lambda name: lambda text: [Token(word) for word in text.replace(",", " ").split()]
rich = types.ModuleType("rich")
rich.print = print
sys.modules.update({"spacy": spacy, "rich": rich})
for package in ["web_agent_site", "web_agent_site.engine"]:
    sys.modules[package] = types.ModuleType(package)
for name in ["normalize", "goal"]:
    module = types.ModuleType(f"web_agent_site.engine.{name}")
    sys.modules[module.__name__] = module
    code = (source / f"web_agent_site/engine/{name}.py").read_text()
    exec(compile(code, name, "exec"), module.__dict__)
goal_module = sys.modules["web_agent_site.engine.goal"]

rng = random.Random(14)
BRANDS = ["Northfell", "Aldery", "Tamsin"]
KINDS = [
    ("women's running shoes", "Clothing › Women › Shoes › Athletic", ["Running Shoes", "Trail Sneakers"], ["slip resistant", "arch support", "memory foam", "lace-up closure", "rubber sole"]),
    ("men's shirts", "Clothing › Men › Shirts", ["Oxford Shirt", "Henley Tee"], ["machine washable", "long sleeve", "slim fit", "button closure", "moisture wicking"]),
    ("skin care", "Beauty › Skin Care › Face", ["Night Serum", "Face Cream, Day Lotion"], ["cruelty free", "hyaluronic acid", "sensitive skin", "anti aging"]),
    ("cookware", "Home & Kitchen › Kitchen & Dining › Pans", ["Frying Pan", "Wok", "Grill"], ["non stick", "dishwasher safe", "stainless steel"]),
]
COLORS = ["navy blue", "black | white", "wine red", "heather gray", "á la crème", "multi", "b-rose pink", "02 | pure white", "no-color"]
SIZES = ["small", "x-large", "6.5", "3 ounce (pack of 1)", "3-ounce (2-pack)", "42\" x 63\"", "one_size"]


def product():
    query, path, items, attributes = rng.choice(KINDS)
    own = rng.sample(attributes, rng.randint(1, len(attributes)))
    spoken = [rng.choice([a, a + "s", a.replace(" ", "-"), a.title(), "very " + a, " ".join(reversed(a.split()))]) for a in own]
    tail = " ".join(rng.sample(sorted(NOUNS), rng.choice([0, 1, 2, 14])))
    return {
        "query": query,
        "product_category": path,
        "name": f"{rng.choice(BRANDS)} {rng.choice(own).title()} {rng.choice(items)}, Series {rng.randint(1, 9)} {tail}",
        "attributes": own,
        "Attributes": [a for a in spoken if rng.random() < 0.8] or ["DUMMY_ATTR"],
        "BulletPoints": [f"{a.upper()}: as it should be" for a in own if rng.random() < 0.3],
        "Description": rng.choice(["", f"For every day, {rng.choice(own)}."]),
        "price": round(rng.uniform(5, 120), 2),
    }


def case(number):
    wanted, bought = product(), product()
    kind = number % 4
    if kind == 0:
        bought = dict(wanted)
    elif kind == 1:
        bought = next(p for p in iter(product, None) if p["query"] == wanted["query"])
    bought["Title"] = bought["name"]
    options = {"color": rng.choice(COLORS), "size": rng.choice(SIZES)}
    wish = {"color": rng.choice([options["color"], rng.choice(COLORS)]), "size": rng.choice([options["size"], rng.choice(SIZES)])}
    if rng.random() < 0.3:
        del options[rng.choice(list(options))]
    if rng.random() < 0.3:
        del wish[rng.choice(list(wish))]
    goal = {
        "query": wanted["query"],
        "product_category": wanted["product_category"],
        "name": wanted["name"],
        "attributes": rng.sample(wanted["attributes"], rng.randint(1, len(wanted["attributes"]))),
        "price_upper": rng.choice([wanted["price"] // 10 * 10 + 10 * rng.randint(1, 4), 1000000, 10.0]),
        "goal_options": wish if rng.random() < 0.3 else list(wish.values()),
    }
    reward, info = goal_module.get_reward(bought, goal, price=bought["price"], options=options, verbose=True)
    return {"product": bought, "goal": goal, "options": options, "reward": reward, "type": info["r_type"]}


cases = [case(number) for number in range(300)]
pairs = [(rng.choice(COLORS + SIZES + ["", "waterproof", "water proof", "water-proof shoes"]), rng.choice(COLORS + SIZES + ["water proof"])) for _ in range(100)]
ratios = [[a, b, goal_module.fuzz.token_set_ratio(a, b)] for a, b in pairs]
with open("vectors.json", "w") as file:
    rows = ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases)
    file.write('{"source": "princeton-nlp/WebShop 64fa2a5, MIT; thefuzz 0.22.1",\n"nouns": ' + json.dumps(sorted(NOUNS)) + ',\n"ratios": ' + json.dumps(ratios, ensure_ascii=False) + ',\n"cases": [\n' + rows + "\n]}\n")
