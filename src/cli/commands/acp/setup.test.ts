// `tenon acp --setup`: the key goes into the keyring, the configuration names it, and it never shows.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { fakeWorld } from "../../../testing/index.js";
import type { CommandContext } from "../../context.js";
import { runWords } from "../../run.js";
import { TABLE } from "../../table.js";
import { createPalette } from "../../terminal/stream.js";

function desk(given: { answer?: string; key?: string | undefined; env?: Record<string, string> }) {
  const world = fakeWorld({ env: { TENON_HOME: "/home/tenon", ...given.env } });
  const entries = new Map<string, string>();
  const output = new PassThrough();
  const errorOutput = new PassThrough();
  const context = (): CommandContext => ({
    world,
    cwd: "/project",
    output,
    errorOutput,
    columns: 80,
    palette: createPalette(false),
    keyring: {
      get: async (name) => entries.get(name),
      set: async (name, value) => {
        entries.set(name, value);
      },
      remove: async (name) => entries.delete(name),
    },
    readValue: async () => given.key,
    ...(given.answer === undefined ? {} : { ask: async () => given.answer }),
  });
  const run = () => runWords(TABLE, ["acp", "--setup"], context);
  const said = () => `${String(output.read() ?? "")}${String(errorOutput.read() ?? "")}`;
  return { world, entries, run, said };
}

test("the key is kept under a name, and the user's file says which", async () => {
  const { world, entries, run, said } = desk({ answer: "2", key: " sk-very-secret\n" });
  await world.files.writeAtomic("/home/tenon/config.json", '{\n  // mine\n  "model": "openai/gpt-6.1-sol"\n}\n');
  expect(await run()).toBe(0);
  expect([...entries]).toEqual([["openai-api-key", "sk-very-secret"]]);
  const text = await world.files.readText("/home/tenon/config.json");
  expect(text).toContain("// mine");
  expect(text).toContain('"apiKey": "keyring:openai-api-key"');
  expect(text).not.toContain("sk-very-secret");
  expect(said()).not.toContain("sk-very-secret");
});

test.each([
  [{ answer: "9", key: "sk" }, "none of them"],
  [{ answer: "1", key: undefined }, "no key was given"],
  [{ key: "sk" }, "no terminal"],
])("what is missing leaves everything as it was: %o", async (given, words) => {
  const { world, entries, run, said } = desk(given);
  expect(await run()).toBe(3);
  expect(said()).toContain(words);
  expect(entries.size).toBe(0);
  expect(await world.files.find("/home/tenon/config.json")).toBeUndefined();
});

test("a variable that would win over it is named", async () => {
  const { run, said } = desk({ answer: "anthropic", key: "sk", env: { ANTHROPIC_API_KEY: "other" } });
  expect(await run()).toBe(0);
  expect(said()).toContain("ANTHROPIC_API_KEY is set");
});
