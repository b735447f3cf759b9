// Servers elsewhere: one connection for sessions in any directory, until the server asks for what differs between them.
import { expect } from "vitest";
import { echoTool, scriptedHttpServer, type ToolScript } from "../../src/testing/index.js";
import { scenario } from "../scenarios/scenario.js";
import { SharedHome, say } from "../scenarios/shared-home.js";

const ROOTS: ToolScript = {
  name: "roots",
  description: "Asks where the session is",
  reply: { kind: "ask_client", method: "roots/list" },
};

scenario(
  ["N1", "N2", "N3"],
  "a server elsewhere is shared across directories until it asks which they are",
  async () => {
    await using home = await SharedHome.open();
    await using server = await scriptedHttpServer({ tools: [echoTool(), ROOTS] });
    home.configure({ far: { url: server.url } }, { serverLimits: { idleMs: 500 } });
    const opened = () => server.requests.filter(({ message }) => message?.["method"] === "initialize").length;
    await using client = await home.editor();
    const [here = ""] = await home.sessions(client, 1, home.folder("here"));
    const [there = "", besides = ""] = await home.sessions(client, 2, home.folder("there"));
    for (const sessionId of [here, there, besides]) {
      expect(await say(client, sessionId, `mcp__far__echo {"text":"from ${sessionId}"}`)).toContain(
        `from ${sessionId}`,
      );
    }
    expect(opened()).toBe(1);
    const roots = await Promise.all([
      say(client, here, "mcp__far__roots"),
      say(client, there, 'mcp__far__echo {"text":"meanwhile"}'),
    ]);
    expect(roots[0]).toContain(home.folder("here"));
    expect(roots[1]).toContain("meanwhile");
    expect(await say(client, there, "mcp__far__roots")).toContain(home.folder("there"));
    expect(await say(client, here, "mcp__far__roots")).toContain(home.folder("here"));
    await expect.poll(opened).toBe(4); // the shared one, and one each
    const left = () => server.requests.filter(({ method }) => method === "DELETE").length;
    await expect.poll(left, { timeout: 5_000 }).toBe(1);
  },
);

scenario(["N2"], "with other credentials it is another connection", async () => {
  await using home = await SharedHome.open();
  await using server = await scriptedHttpServer({ tools: [echoTool()] });
  home.configure({ far: { url: server.url, headers: { "x-key": "${KEY_OF:-one}" } } });
  const opened = () => server.requests.filter(({ message }) => message?.["method"] === "initialize");
  await using client = await home.editor();
  const [first = "", second = ""] = await home.sessions(client, 2);
  for (const sessionId of [first, second]) await say(client, sessionId, 'mcp__far__echo {"text":"hi"}');
  expect(opened()).toHaveLength(1);
  home.configure({ far: { url: server.url, headers: { "x-key": "two" } } });
  await expect.poll(() => opened().length, { timeout: 10_000 }).toBe(2);
  for (const sessionId of [first, second]) await say(client, sessionId, 'mcp__far__echo {"text":"hi"}');
  expect(opened().map(({ headers }) => headers["x-key"])).toEqual(["one", "two"]);
});
