"""Runs the official client against our server and prints the results as JSON. Works with SDK 0.25 and 0.38."""

import io
import json
import sys
import tarfile
import urllib.request
import warnings

import tinker
from tinker import types

warnings.simplefilter("ignore")


def got(value):
    """Waits for a client that SDK 0.38 returns as a future; returns other values unchanged."""
    return value.result() if hasattr(value, "result") else value


def tensor(values, dtype):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def datum(text, **inputs):
    floats = {name: tensor(values, "float32") for name, values in inputs.items()}
    return types.Datum(
        model_input=types.ModelInput.from_ints(text[:-1]),
        loss_fn_inputs={"target_tokens": tensor(text[1:], "int64"), **floats},
    )


service = tinker.ServiceClient()
base = service.get_server_capabilities().supported_models[0].model_name
training = got(service.create_lora_training_client(base_model=base, rank=8, seed=1))
adam = types.AdamParams(learning_rate=0.01)
text = [3, 4, 5, 6, 7, 8]
answer = {"is_lora": training.get_info().is_lora}


def logprobs(client):
    scored = client.forward([datum(text, weights=[1.0] * 5)], "cross_entropy").result()
    return list(scored.loss_fn_outputs[0]["logprobs"].data)


losses = []
for _ in range(30):
    passed = training.forward_backward([datum(text, weights=[1.0] * 5)], "cross_entropy")
    training.optim_step(adam).result()
    losses.append(passed.result().metrics["loss:sum"])
answer["losses"] = [losses[0], losses[-1]]

before = logprobs(training)
advantages = [0.0, 1.0, -1.0, 0.5, 0.0]
ratio = training.forward_backward(
    [datum(text, logprobs=before, advantages=advantages)], "importance_sampling"
).result()
answer["importance"] = list(ratio.loss_fn_outputs[0]["elementwise_loss"].data)

saved = got(training.save_state("state")).path
answer["saved"] = saved
answer["logprobs"] = logprobs(training)
answer["loaded"] = [
    logprobs(got(load(saved)))
    for load in (
        service.create_training_client_from_state,
        service.create_training_client_from_state_with_optimizer,
    )
]

sampler = got(training.save_weights_and_get_sampling_client())
answer["computed"] = sampler.compute_logprobs(types.ModelInput.from_ints(text)).result()
scored = sampler.sample(
    prompt=types.ModelInput.from_ints(text),
    num_samples=1,
    sampling_params=types.SamplingParams(max_tokens=1, seed=1),
    include_prompt_logprobs=True,
    topk_prompt_logprobs=20,
).result()
answer["top"] = scored.topk_prompt_logprobs

named = training.save_weights_for_sampler("adapter").result().path
rest = service.create_rest_client()
if hasattr(rest, "get_checkpoint_archive_url_from_tinker_path"):
    url = rest.get_checkpoint_archive_url_from_tinker_path(named).result().url
    archive = io.BytesIO(urllib.request.urlopen(url, timeout=60).read())
    answer["archive"] = sorted(tarfile.open(fileobj=archive).getnames())

if "custom" in sys.argv:
    import torch

    before = logprobs(training)
    passed = training.forward_backward(
        [
            datum(
                text,
                logprobs=[value - 0.5 for value in before],
                advantages=[1.0, -1.0, 1.0, 1.0, 1.0],
                sequence_ratio_mask=[0.0, 1.0, 1.0, 0.0, 0.0],
            )
        ],
        "gspo",
        {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2},
    ).result()
    answer["gspo"] = list(passed.loss_fn_outputs[0]["elementwise_loss"].data)

    def squared(data, values):
        loss = sum((one**2).sum() for one in values)
        return loss, {"squares": float(loss)}

    custom = training.forward_backward_custom([datum(text)], squared).result()
    answer["custom"] = custom.metrics["squares"]
    training.optim_step(types.AdamParams(learning_rate=0.0)).result()

# A training loop as in the cookbook: groups of 8, a reward for even tokens, and importance sampling.
rewards = []
learner = got(service.create_lora_training_client(base_model=base, rank=8, seed=2))
prompt = [3, 4]
for step in range(25):
    sampler = got(learner.save_weights_and_get_sampling_client())
    params = types.SamplingParams(max_tokens=4, temperature=1.0, seed=step)
    samples = sampler.sample(
        prompt=types.ModelInput.from_ints(prompt), num_samples=16, sampling_params=params
    ).result()
    scores = [sum(token % 2 == 0 for token in one.tokens) / 4 for one in samples.sequences]
    mean = sum(scores) / len(scores)
    rewards.append(mean)
    data = [
        datum(
            prompt + list(one.tokens),
            logprobs=[0.0] + list(one.logprobs),
            advantages=[0.0] + [score - mean] * len(one.tokens),
        )
        for one, score in zip(samples.sequences, scores)
        if len(one.tokens) > 0
    ]
    passed = learner.forward_backward(data, "importance_sampling")
    learner.optim_step(types.AdamParams(learning_rate=0.01)).result()
    passed.result()
answer["rewards"] = [sum(rewards[:3]) / 3, sum(rewards[-3:]) / 3]

print(json.dumps(answer))
