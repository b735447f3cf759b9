// `tenon login`: where the key is kept is known before it is asked for; it is shown nowhere; what fails changes nothing.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Terminal } from "../../../../test/terminal.js";
import type { CommandContext } from "../../context.js";
import { systemKeyring } from "../../secrets.js";
import { createPalette } from "../../terminal/stream.js";
import { firstRun, lacksModel } from "./login.js";

const USER = "/home/me/.config/tenon/config.json";
const KEY = "sk-very-secret";

function terminal(options: {
  answers?: readonly string[];
  key?: string;
  hasKeyring?: boolean;
  env?: Record<string, string>;
}) {
  const made = new Terminal({}, options.env);
  const answers = [...(options.answers ?? [])];
  const entries = new Map<string, string>();
  const order: string[] = [];
  const reach = () => {
    order.push("keyring");
    if (options.hasKeyring === false) throw new Error("no keyring here");
  };
  made.extra = {
    keyring: {
      get: async (name) => (reach(), entries.get(name)),
      set: async (name, value) => (reach(), void entries.set(name, value)),
      remove: async (name) => entries.delete(name),
    },
    readValue: async (question) => (order.push(question), options.key),
    ...(options.answers ? { ask: async (question: string) => (order.push(question), answers.shift()) } : {}),
  };
  const config = async () => JSON.parse(await made.world.files.readText(USER));
  return { made, entries, order, config };
}

test("a key goes into the keyring, and the configuration refers to it", async () => {
  const { made, entries, config, order } = terminal({ key: `${KEY}\n` });
  const { code, out, err } = await made.run("login", "anthropic");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect([...entries]).toEqual([["anthropic-api-key", KEY]]);
  expect(await config()).toMatchObject({ providers: { anthropic: { apiKey: "keyring:anthropic-api-key" } } });
  expect(out).not.toContain(KEY);
  expect(order[0]).toBe("keyring");
});

test("without a keyring it goes into a private file, which is said before it is asked for", async () => {
  const { made, config, order } = terminal({ key: KEY, hasKeyring: false });
  expect(await made.run("login", "openai")).toMatchObject({ code: 0 });
  expect(order[1]).toContain("it goes into a private file: no keyring here");
  const path = "/home/me/.local/state/tenon/keys/openai-api-key";
  expect(await made.world.files.readText(path)).toBe(KEY);
  expect(((await made.world.files.find(path))?.mode ?? 0) & 0o077).toBe(0);
  expect(await config()).toMatchObject({ providers: { openai: { apiKey: `{file:${path}}` } } });
});

test("a program on this machine needs no key; the address and the model are kept", async () => {
  const { made, config } = terminal({ key: "" });
  const { code } = await made.run("login", "ollama", "--url", "http://localhost:11434/v1/", "--model", "qwen3");
  expect(code).toBe(0);
  expect(await config()).toMatchObject({
    model: "openai-compatible/qwen3",
    providers: { "openai-compatible": { baseUrl: "http://localhost:11434/v1" } },
  });
});

test("the key of the address before is not kept for the next one, which may be anybody's", async () => {
  const { made, config } = terminal({ key: KEY });
  await made.run("login", "openrouter", "--model", "x/y");
  made.extra = { ...made.extra, readValue: async () => "" };
  expect(await made.run("login", "other", "--url", "http://127.0.0.1:9/v1", "--model", "m")).toMatchObject({ code: 0 });
  expect(await config()).toMatchObject({ providers: { "openai-compatible": { baseUrl: "http://127.0.0.1:9/v1" } } });
  expect(JSON.stringify(await config())).not.toContain("apiKey");
});

test.each([
  [["login", "anthropic"], "", "no key was given"],
  [["login", "other", "--url", "http://me:pw@127.0.0.1/v1"], KEY, "a name or password in the address"],
  [["login", "other", "--url", "nonsense"], KEY, "that is no address"],
  [["login", "anthropic", "--url", "https://x.example"], KEY, "--url is for"],
  [["login"], KEY, "no terminal to ask in"],
  [["login", "antropic"], KEY, 'did you mean "anthropic"?'],
])("%j changes nothing: %s", async (words, key, reason) => {
  const { made, entries } = terminal({ key });
  const { code, err } = await made.run(...words);
  expect(code).toBeGreaterThan(1);
  expect(err).toContain(reason);
  expect(err).not.toContain(KEY);
  expect(entries.size).toBe(0);
  expect(await made.world.files.find(USER)).toBeUndefined();
});

function contextFor(options: Parameters<typeof terminal>[0]): {
  context: CommandContext;
  config: () => Promise<unknown>;
} {
  const { made, config } = terminal(options);
  const output = new PassThrough();
  const base = {
    world: made.world,
    cwd: "/project",
    output,
    errorOutput: output,
    columns: 80,
    palette: createPalette(false),
  };
  return { context: { keyring: systemKeyring(made.world), ...base, ...made.extra }, config };
}

test("the first start offers providers, addresses and the offline model, and what other clients have", async () => {
  const { context, config } = contextFor({ answers: [""] });
  await context.world.files.writeAtomic("/home/me/.cursor/mcp.json", '{"mcpServers": {"a": {"command": "run"}}}');
  expect(await lacksModel(context)).toBe(true);
  await firstRun(context);
  const shown = String(context.output instanceof PassThrough ? context.output.read() : "");
  for (const words of ["Anthropic", "Ollama on this machine", "OpenRouter", "offline model", "1 in cursor"]) {
    expect(shown).toContain(words);
  }
  expect(await config()).toMatchObject({ model: "offline/operator" });
  expect(await lacksModel(context)).toBe(false); // it is asked once
});

test("the first start keeps the key of the provider that is chosen", async () => {
  const { context, config } = contextFor({ answers: ["1"], key: KEY });
  await firstRun(context);
  expect(await config()).toMatchObject({ providers: { anthropic: { apiKey: "keyring:anthropic-api-key" } } });
  expect(await lacksModel(context)).toBe(false);
});

test("a key in the environment is enough", async () => {
  expect(await lacksModel(contextFor({ env: { OPENAI_API_KEY: "x" } }).context)).toBe(false);
});
