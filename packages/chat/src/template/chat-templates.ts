/**
 * Chat templates for models without a template of their own. Neither changes earlier text when
 * messages are added.
 */

/**
 * ChatML with tools, tool calls and reasoning as in Qwen3. Unlike Qwen3's template, it keeps the
 * reasoning of earlier turns. Needs the tokens `<|im_start|>` and `<|im_end|>`; `<|im_end|>` ends a
 * turn.
 */
const chatml = `{%- set mute = enable_thinking is defined and enable_thinking is false %}
{%- set first = messages[0].content or '' if messages[0].role == 'system' else '' %}
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if first %}
        {{- first + '\\n\\n' }}
    {%- endif %}
    {{- '# Tools\\n\\nThese functions can be called:\\n<tools>' }}
    {%- for tool in tools %}
        {{- '\\n' }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '\\n</tools>\\n\\nA call is a JSON object between tags:\\n<tool_call>\\n{"name": <name>, "arguments": <object>}\\n</tool_call><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + first + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- set content = message.content or '' %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if message.reasoning_content %}
            {{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
        {%- elif mute %}
            {{- '<think>\\n\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content }}
        {%- if message.tool_calls %}
            {%- for call in message.tool_calls %}
                {%- if content or not loop.first %}
                    {{- '\\n' }}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
                {%- if call.function.arguments is string %}
                    {{- call.function.arguments }}
                {%- else %}
                    {{- call.function.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if mute %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}`;

/**
 * Template for models with a few thousand parameters. It prints the content of each message,
 * followed by the end token for messages of the assistant and by a line break for others. Tools are
 * not described; tool calls are printed without spaces around them.
 */
const minimal = `{%- for message in messages %}
    {%- set content = message.content or '' %}
    {%- if message.role == 'assistant' %}
        {{- content }}
        {%- if message.tool_calls %}
            {%- for call in message.tool_calls %}
                {{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
                {%- if call.function.arguments is string %}
                    {{- call.function.arguments }}
                {%- else %}
                    {{- call.function.arguments | tojson }}
                {%- endif %}
                {{- '}</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- eos_token }}
    {%- else %}
        {{- content + '\\n' }}
    {%- endif %}
{%- endfor %}`;

/** Ready-made chat templates by name. */
export const chatTemplates = { chatml, minimal } as const;
