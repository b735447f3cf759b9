// Forty malformed server entries of a program: one error each that names the place, no value shown, the other servers unharmed.
import { inspect } from "node:util";
import { expect } from "vitest";
import { createRuntime, type ServerEntries } from "../../src/library/index.js";
import { echoTool, scriptedServer } from "../../src/testing/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { scenario } from "../scenarios/scenario.js";

const SECRET = "Bearer s3cr3t-hunter2";

class Thrower {
  get command(): string {
    throw new TypeError(SECRET);
  }
}

const loop: Record<string, unknown> = { command: "x" };
loop["tools"] = { a: loop };

/** Each with what its error must say, beside the place. */
const MALFORMED: readonly (readonly [entry: unknown, words: string])[] = [
  [undefined, "expected an object"],
  [null, "expected an object"],
  [SECRET, "expected an object"],
  [42, "expected an object"],
  [true, "expected an object"],
  [[SECRET], "expected an object"],
  [() => SECRET, "plain data"],
  [Symbol(SECRET), "plain data"],
  [10n, "plain data"],
  [{}, "expected a command, or a url"],
  [{ command: "" }, "command must be a text"],
  [{ command: 5 }, "command must be a text, got a number"],
  [{ command: [SECRET] }, "command must be a text, got a list"],
  [{ command: null }, "command must be a text, got null"],
  [{ comand: SECRET }, 'did you mean "command"'],
  [{ command: "x", url: "https://a" }, "either a command or a url"],
  [{ command: "x", args: SECRET }, "args must be a list, got a text"],
  [{ command: "x", args: [1] }, "args[0] must be a text"],
  [{ command: "x", args: [() => SECRET] }, "args[0] must be plain data"],
  [{ command: "x", env: [SECRET] }, "env must be an object"],
  [{ command: "x", env: { TOKEN: 5 } }, "env.TOKEN must be a text"],
  [{ command: "x", env: { [`TOKEN=${SECRET}`]: "" } }, "is no variable's name"],
  [{ command: "x", env: { TOKEN: `\${${SECRET}}` } }, "is no reference"],
  [{ command: "x", env: { TOKEN: "${TENON_NOT_SET_ANYWHERE}" } }, "TENON_NOT_SET_ANYWHERE is not set"],
  [{ command: "x", env: { TOKEN: `!${SECRET}` } }, "user's own configuration only"],
  [{ command: "x", cwd: 7 }, "cwd must be a text"],
  [{ command: "x", timeoutMs: -1 }, "timeoutMs must be at least 1"],
  [{ command: "x", timeoutMs: Number.NaN }, "timeoutMs must be a number that JSON has"],
  [{ command: "x", include: SECRET }, "include must be"],
  [{ command: "x", required: SECRET }, "required must be true or false"],
  [{ command: "x", alow: [SECRET] }, 'did you mean "allow"'],
  [{ command: `x\0${SECRET}` }, "NUL character"],
  [{ type: SECRET, command: "x" }, "type must be"],
  [{ type: "http" }, "url must be a text"],
  [{ url: SECRET }, "url must be a full http:// or https:// address"],
  [{ url: "ftp://a/b" }, "url must be a full http:// or https:// address"],
  [{ url: "https://a", headers: { Authorization: 5 } }, "headers.Authorization must be a text"],
  [{ url: "https://a", headers: { [`Authorization: ${SECRET}`]: "" } }, "is no header's name"],
  [{ url: "https://a", headers: { Authorization: `${SECRET}\r\nX: y` } }, "must not hold line breaks"],
  [{ url: "https://a", auth: { type: "basic", token: SECRET } }, "auth.type must be"],
  [{ url: "https://a", auth: { token: SECRET } }, "auth.type must be"],
  [loop, "nested too deep, or refers to itself"],
  [new Thrower(), "expected a command, or a url"],
  [Object.defineProperty({}, "command", { enumerable: true, get: () => new Thrower().command }), "throws"],
];

scenario(["V102"], "each of forty malformed entries gets one error, and the good server works", async () => {
  using home = new TemporaryFolder();
  const good = scriptedServer({ tools: [echoTool()] });
  const bad = MALFORMED.map(([entry], at) => [`bad${at}`, entry]);
  const mcpServers: ServerEntries = Object.fromEntries([...bad, ["good", good]]);
  const failed: string[] = [];
  await using runtime = await createRuntime({
    model: "offline/operator",
    env: cleanEnv(home.path),
    mcpServers,
    onEvent: (event) => {
      if (event.type === "server_failed") failed.push(event.server);
    },
  });
  const session = await runtime.createSession({ cwd: home.path });
  await session.ready({ server: "good" });
  expect(await session.tools.call("echo", { text: "works" })).toMatchObject({ status: "done" });
  const all = session.servers().filter(({ name }) => name !== "good");
  expect(all).toHaveLength(MALFORMED.length);
  // No two of them are the same.
  const distinct = new Set(MALFORMED.map(([entry]) => inspect(entry, { depth: 3, getters: false })));
  expect(distinct.size).toBe(MALFORMED.length);
  expect(distinct.size).toBeGreaterThanOrEqual(40);
  for (const [at, [, words]] of MALFORMED.entries()) {
    const status = all.find(({ name }) => name === `bad${at}`);
    expect(status, `entry ${at}`).toMatchObject({ state: "failed" });
    expect(status?.error, `entry ${at}`).toContain(`mcpServers.bad${at}`);
    expect(status?.error, `entry ${at}`).toContain(words);
  }
  expect(JSON.stringify(session.servers())).not.toMatch(/s3cr3t|hunter2|TypeError/u);
  expect(failed.toSorted()).toEqual(all.map(({ name }) => name).toSorted());
});

scenario(["V102"], "lists without names, names that are none, and what is no set of entries", async () => {
  using home = new TemporaryFolder();
  const good = scriptedServer({ tools: [echoTool()] });
  const open = async (mcpServers: unknown) => {
    // @ts-expect-error plain JavaScript may write anything
    const runtime = await createRuntime({ model: "offline/operator", env: cleanEnv(home.path), mcpServers });
    const session = await runtime.createSession({ cwd: home.path });
    const statuses = await session.ready();
    await runtime.close();
    return statuses.map(({ state, error }) => (state === "ready" ? "ready" : (error ?? "")));
  };
  expect(await open([{ name: "a", ...good }, { command: SECRET }, SECRET, { name: "\u0007", ...good }])).toEqual([
    "ready",
    expect.stringContaining("mcpServers[1].name must be a text"),
    expect.stringContaining("mcpServers[2] must be an object with a name"),
    expect.stringContaining("control or invisible characters"),
  ]);
  expect(await open(SECRET)).toEqual([expect.stringContaining("mcpServers must be an object of entries")]);
  expect(
    await open([
      { name: "a", ...good },
      { name: "a", ...good },
    ]),
  ).toEqual(["ready"]);
  const trap = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new TypeError(SECRET);
      },
    },
  );
  expect(await open(trap)).toEqual([expect.stringContaining("cannot be read: one of its properties throws")]);
  const shaped = { s: { ...good, rename: { echo: "say" }, timeoutMs: 5_000, prefix: "p_" } };
  await using runtime = await createRuntime({
    model: "offline/operator",
    env: cleanEnv(home.path),
    mcpServers: shaped,
  });
  const session = await runtime.createSession({ cwd: home.path });
  await session.ready();
  expect(session.tools.bySource("s")).toMatchObject([{ name: "mcp__s__say", originalName: "echo" }]);
});
