#!/bin/bash
# usage: go.sh seed
rm -rf runs; QUICKSTART_SEED=$1 timeout 300 ../../tools/dev node --conditions=@trinity-rft/source --import ../../tools/register-source.mjs src/index.ts > /tmp/q$1.log 2>&1; tail -5 /tmp/q$1.log | head -2; python3 - <<'P'
import json, statistics as st
rows=[json.loads(l) for l in open('runs/Trinity-RFT/quickstart/grpo/monitor/metrics.jsonl')]
ex=[r for r in rows if r['role']=='explorer' and 'rollout/reward/mean' in r['metrics']]
tr=[r for r in rows if r['role']=='trainer']
print([round(r['metrics']['rollout/reward/mean'],3) for r in ex][::8])
print('maxdiff',max(r['metrics']['training/rollout_logprobs_diff_max'] for r in tr), {k: st.median(r['timing'][k] for r in tr) for k in ['time/step','time/read_experience','time/forward','time/backward']}, st.median(r['timing']['time/wait_explore_step'] for r in ex))
P
