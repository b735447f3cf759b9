// A tool that is a function of this program: its arguments are checked, and typed by the schema.
import assert from "node:assert/strict";
import { createRuntime, tool } from "tenon";
import { z } from "zod";

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => `${a} + ${b} = ${a + b}`,
});

const runtime = await createRuntime({ model: "offline/operator" });
const session = await runtime.createSession({ cwd: process.cwd() });
const remove = session.register(add);
const right = await session.tools.call("add", { a: 2, b: 40 });
const wrong = await session.tools.call("add", { a: "two", b: 40 });
remove();
const gone = await session.tools.call("add", { a: 2, b: 40 });
await runtime.close();

assert.equal(right.text, "2 + 40 = 42");
assert.equal(wrong.status, "failed");
assert.equal(gone.code, "tool.unknown");
