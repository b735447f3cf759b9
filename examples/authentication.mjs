// A remote server that wants a token: it comes from a variable, and is shown nowhere.
import assert from "node:assert/strict";
import { createRuntime } from "tenon";
import { echoTool, scriptedHttpServer } from "tenon/testing";

const remote = await scriptedHttpServer({ tools: [echoTool()] }, { bearer: "s3cret-token" });
const entry = { type: "http", url: remote.url, headers: { Authorization: "Bearer ${NOTES_TOKEN}" } };
const answers = async (token) => {
  const events = [];
  const env = { ...process.env, NOTES_TOKEN: token };
  const onEvent = (event) => events.push(event);
  const runtime = await createRuntime({ model: "offline/operator", mcpServers: { notes: entry }, env, onEvent });
  const session = await runtime.createSession({ cwd: process.cwd() });
  const servers = await session.ready();
  const result = await session.tools.call("echo", { text: "hello" });
  await runtime.close();
  return { servers, result, told: JSON.stringify(events) };
};

const right = await answers("s3cret-token");
const wrong = await answers("another-token");
await remote[Symbol.asyncDispose]();

assert.equal(right.result.text, '{"text":"hello"}');
assert.notEqual(wrong.result.status, "done");
console.log(wrong.servers[0].state, wrong.servers[0].error);
assert.doesNotMatch(right.told + wrong.told + JSON.stringify(wrong), /s3cret-token|another-token/);
