// Options for one provider on a tool: each provider gets its own in its own form, and nothing else.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { openTools, toAnthropicTools, toOpenAiTools } from "tenon/tools";

const notes = { command: process.execPath, args: [fileURLToPath(new URL("notes-server.mjs", import.meta.url))] };
const providerOptions = { openai: { function: { strict: true } }, anthropic: { cacheControl: { type: "ephemeral" } } };
const strict = { name: "strict", transform: (tool) => ({ ...tool, providerOptions }) };
const set = await openTools({ mcpServers: { notes: { ...notes, allow: ["add_note"] } }, transformers: [strict] });
await set.ready();
const isNote = ({ name, function: { name: inside = name } = {} }) => inside.endsWith("add_note");
const chat = toOpenAiTools(set, { api: "chat" }).tools.find(isNote);
const anthropic = toAnthropicTools(set).tools.find(isNote);
await set.close();

assert.equal(chat.function.strict, true);
assert.equal(chat.function.parameters.additionalProperties, false); // the form that strict decoding needs
assert.deepEqual(anthropic.cache_control, { type: "ephemeral" });
assert.equal(anthropic.strict, undefined);
