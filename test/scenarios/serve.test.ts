// `tenon mcp serve`: all configured servers as one MCP server, for clients that nobody here wrote.

import { existsSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import { type Behaviour, echoTool } from "../../src/testing/index.js";
import { cleanEnv } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";
import { type Era, RawServe, servedClient, serveOverHttp } from "./serve-bench.js";
import { entry } from "./tools/tool-session.js";

const ERAS: readonly Era[] = ["legacy", "modern"];
const ALLOW = { rules: [{ effect: "allow" }] };
const form = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const WORK: Behaviour = {
  tools: [
    echoTool(),
    { name: "picture", reply: { kind: "image" } },
    { name: "figures", outputSchema: { type: "object" }, reply: { kind: "structured", value: { sum: 3 } } },
    { name: "fails", reply: { kind: "error", text: "no such file" } },
    { name: "odd", reply: { kind: "protocol_error", code: -32_050, message: "out of paper" } },
    {
      name: "slow",
      steps: [
        { do: "progress", progress: 1, total: 2 },
        { do: "delay", ms: 50 },
        { do: "progress", progress: 2, total: 2 },
        // The SDK drops progress that it reads together with the answer, as a client does that had to wait for a processor.
        { do: "delay", ms: 1_000 },
      ],
      reply: { kind: "text", text: "done" },
    },
    {
      name: "asks",
      reply: { kind: "ask_client", method: "elicitation/create", params: { message: "Where?", requestedSchema: form } },
    },
    {
      name: "grows",
      steps: [{ do: "set_tools", tools: [echoTool("later")] }, { do: "list_changed" }],
      reply: { kind: "text", text: "grown" },
    },
  ],
};

async function open(servers: object, more: object = {}): Promise<ConfigBench> {
  const bench = await ConfigBench.open();
  bench.put("home/config.json", { mcpServers: servers, ...more });
  return bench;
}

function textOf(result: unknown): string {
  return JSON.stringify(result);
}

for (const era of ERAS) {
  scenario(["V300", "V301"], `a plain client of the ${era} era lists and calls what two servers have`, async () => {
    await using bench = await open(
      { work: entry(WORK), other: entry({ tools: [echoTool()] }), broken: { command: "no-such-program" } },
      { permissions: ALLOW },
    );
    await using client = await servedClient(bench, { era });
    expect(client.getProtocolEra()).toBe(era);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name).sort();
    expect(names.slice(0, 3)).toEqual(["other__echo", "work__asks", "work__echo"]);
    expect(names).toHaveLength(9);
    expect(await client.callTool({ name: "other__echo", arguments: { text: "x" } })).toMatchObject({
      content: [{ type: "text", text: '{"text":"x"}' }],
      isError: false,
    });
    const picture = await client.callTool({ name: "work__picture" });
    expect(picture).toMatchObject({ content: [{ type: "image", mimeType: "image/png" }] });
    expect(await client.callTool({ name: "work__figures" })).toMatchObject({ structuredContent: { sum: 3 } });
    expect(await client.callTool({ name: "work__fails" })).toMatchObject({
      isError: true,
      content: [{ text: "no such file" }],
    });
    await expect(client.callTool({ name: "work__odd" })).rejects.toMatchObject({ code: -32_050 });
    await expect(client.callTool({ name: "work__none" })).rejects.toMatchObject({ code: -32_602 });
    const told: number[] = [];
    await client.callTool({ name: "work__slow" }, { onprogress: ({ progress }) => told.push(progress) });
    expect(told.filter((step) => step > 0)).toEqual([1, 2]);
  });

  scenario(["V302", "V314"], `questions of policy and of servers reach a client of the ${era} era`, async () => {
    await using bench = await open({ work: entry(WORK) });
    const asked: string[] = [];
    let decision = "once";
    const person = ({ message, requestedSchema }: { message: string; requestedSchema?: object }) => {
      asked.push(message);
      if (JSON.stringify(requestedSchema).includes('"city"'))
        return { action: "accept", content: { city: "Rome" } } as const;
      return decision === ""
        ? ({ action: "decline" } as const)
        : ({ action: "accept", content: { decision } } as const);
    };
    await using client = await servedClient(bench, { era, person });
    const call = async () => textOf(await client.callTool({ name: "work__echo", arguments: { text: "hi" } }));
    expect(await call()).toContain('{\\"text\\":\\"hi\\"}');
    expect(asked).toEqual(["Tenon asks: may work / echo be called?\nArguments:\ntext: hi"]);
    decision = "";
    expect(await call()).toContain("The call was refused: the person said no");
    decision = "nonsense";
    expect(await call()).toContain("The call was refused: the person said no");
    decision = "always";
    expect(await call()).toContain("hi");
    expect(asked).toHaveLength(4);
    expect(await call()).toContain("hi");
    expect(asked).toHaveLength(4); // it was granted
    expect(textOf(await client.callTool({ name: "work__asks" }))).toContain("Rome");
    expect(asked.at(-1)).toBe("work: Where?");
  });

  scenario(["V306"], `a client of the ${era} era hears of another list, once`, async () => {
    await using bench = await open({ work: entry(WORK) }, { permissions: ALLOW });
    let changes = 0;
    let told = () => {};
    const changed = new Promise<void>((resolve) => {
      told = resolve;
    });
    const onToolsChanged = () => {
      changes += 1;
      told();
    };
    await using client = await servedClient(bench, { era, onToolsChanged });
    expect((await client.listTools()).tools).toHaveLength(8);
    await client.callTool({ name: "work__echo", arguments: { text: "x" } });
    expect(changes).toBe(0);
    await client.callTool({ name: "work__grows" });
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["work__later"]);
    expect(changes).toBe(1);
  });

  scenario(["V307"], `over HTTP a client of the ${era} era is served with its token`, async () => {
    await using bench = await open({ work: entry(WORK) });
    await using http = await serveOverHttp(bench);
    const person = () => ({ action: "accept", content: { decision: "once" } }) as const;
    const client = await servedClient(bench, { era, http, person });
    expect((await client.listTools()).tools).toHaveLength(8);
    expect(textOf(await client.callTool({ name: "work__echo", arguments: { text: "hi" } }))).toContain("hi");
    const told: number[] = [];
    await client.callTool({ name: "work__slow" }, { onprogress: ({ progress }) => told.push(progress) });
    expect(told.at(-1)).toBe(2);
    await bench.tenon(["gateway", "token", "revoke", "agent"]);
    await expect
      .poll(
        async () =>
          await client.callTool({ name: "work__echo", arguments: { text: "hi" } }).then(
            () => "served",
            () => "refused",
          ),
      )
      .toBe("refused");
    await client.close();
  });
}

scenario(["V303"], "--yes covers no protected file, and what is not offered cannot be called by any name", async () => {
  const work = { ...entry(WORK), tools: { fails: { include: "manual" } } };
  await using bench = await open({ work });
  await using client = await servedClient(bench, { words: ["--yes", "--builtin", "write_file"] });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  const write = names.find((name) => name.endsWith("write_file")) ?? "";
  const into = (path: string) =>
    client.callTool({ name: write, arguments: { path: join(bench.project, path), content: "x" } });
  expect(textOf(await into("plain.txt"))).not.toContain("refused");
  expect(textOf(await into(".git/hooks/pre-commit"))).toContain("refused");
  expect(existsSync(join(bench.project, ".git/hooks/pre-commit"))).toBe(false);
  expect(names).not.toContain("work__fails");
  for (const name of ["work__fails", "mcp__work__fails"]) {
    await expect(client.callTool({ name })).rejects.toThrow(/Unknown tool/u);
  }
});

scenario(
  ["V303"],
  "without elicitation policy refuses and says what to do; a rule and --yes let it through",
  async () => {
    await using bench = await open({ work: entry(WORK) });
    const call = { name: "work__echo", arguments: { text: "hi" } };
    {
      await using client = await servedClient(bench);
      const refused = textOf(await client.callTool(call));
      expect(refused).toContain("this client cannot be asked, since it has no elicitation");
      expect(refused).toContain(`tenon trust grant work, run in ${bench.project}`);
      expect(refused).toContain('"isError":true');
    }
    {
      await using client = await servedClient(bench, { words: ["--yes"] });
      expect(textOf(await client.callTool(call))).not.toContain("refused");
    }
    bench.put("home/config.json", {
      mcpServers: { work: entry(WORK) },
      permissions: { rules: [{ effect: "allow", server: "work", tool: "echo" }] },
    });
    await using client = await servedClient(bench, { era: "modern" });
    expect(textOf(await client.callTool(call))).not.toContain("refused");
  },
);

scenario(["V304", "V305"], "--search offers two tools for all; Tenon's own are there when named", async () => {
  await using bench = await open({ work: entry({ ...WORK, fillerTools: 300 }) }, { permissions: ALLOW });
  {
    await using client = await servedClient(bench, { words: ["--search"] });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["tenon_search_tools", "tenon_call_tool"]);
    const found = await client.callTool({ name: "tenon_search_tools", arguments: { query: "picture" } });
    expect(textOf(found)).toContain("mcp__work__picture");
    for (const name of ["mcp__work__echo", "work__echo"]) {
      const called = await client.callTool({ name: "tenon_call_tool", arguments: { name, arguments: { text: "in" } } });
      expect(textOf(called)).toContain('{\\"text\\":\\"in\\"}');
    }
    const own = { name: "tenon_call_tool", arguments: { name: "read_file", arguments: { path: "x" } } };
    expect(textOf(await client.callTool(own))).toContain("There is no tool named");
  }
  bench.put("project/note.txt", "remember the milk");
  await using client = await servedClient(bench, { words: ["--builtin", "read_file,grep"] });
  const { tools } = await client.listTools();
  const own = tools.filter(({ name }) => !name.startsWith("work__")).map(({ name }) => name);
  expect(own.sort()).toEqual(["grep", "read_file"]);
  expect(tools).toHaveLength(310);
  const read = await client.callTool({ name: "read_file", arguments: { path: join(bench.project, "note.txt") } });
  expect(textOf(read)).toContain("remember the milk");
  await expect(client.callTool({ name: "write_file", arguments: {} })).rejects.toMatchObject({ code: -32_602 });
  const { code, stderr } = await bench.tenon(["mcp", "serve", "--builtin", "reed_file"]);
  expect([code, stderr.includes('there is no tool "reed_file"')]).toEqual([2, true]);
});

scenario(["V311"], "a project's server is served once it is trusted", async () => {
  await using bench = await open({ work: entry(WORK) }, { permissions: ALLOW });
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  {
    await using client = await servedClient(bench);
    expect((await client.listTools()).tools.some(({ name }) => name.startsWith("theirs"))).toBe(false);
  }
  expect(bench.deeds).toEqual([]);
  expect((await bench.tenon(["trust", "approve", "theirs"])).code).toBe(0);
  await using client = await servedClient(bench);
  expect((await client.listTools()).tools.some(({ name }) => name === "theirs__greet")).toBe(true);
});

const post = (port: number, headers: Readonly<Record<string, string>>, body: string | Buffer, path = "/mcp") =>
  new Promise<{ status: number; text: string; session: string }>((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path, method: "POST", headers }, (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        text += String(chunk);
      });
      const session = String(answer.headers["mcp-session-id"] ?? "");
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text, session }));
    });
    sent.on("error", reject);
    sent.end(body);
  });

/** The status of a request whose body is announced, and not sent unless it is wanted. */
const announced = (port: number, headers: Readonly<Record<string, string>>) =>
  new Promise<number>((resolve, reject) => {
    const all = { ...headers, expect: "100-continue" };
    const sent = httpRequest({ host: "127.0.0.1", port, path: "/mcp", method: "POST", headers: all }, (answer) => {
      resolve(answer.statusCode ?? 0);
      sent.destroy();
    });
    sent.on("error", reject);
    sent.flushHeaders();
  });

scenario(
  ["V307", "V308"],
  "over HTTP strangers, odd heads and hostile bodies are refused, and others go on",
  async () => {
    await using bench = await open({ work: entry(WORK) }, { permissions: ALLOW });
    await using http = await serveOverHttp(bench);
    const { port, token } = http;
    const good = { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream" };
    const status = async (headers: object, body: string | Buffer = ping, path?: string) =>
      (await post(port, { ...good, ...headers }, body, path)).status;
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const begin = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const initialize = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: begin });
    expect(await status({ authorization: "Bearer tng_wrong" })).toBe(401);
    expect(await status({ host: "evil.example" })).toBe(403);
    expect(await status({ origin: "http://evil.example" })).toBe(403);
    expect(await status({}, ping, "/other")).toBe(404);
    const reader = JSON.parse((await bench.tenon(["gateway", "token", "create", "reader", "--json"])).stdout).token;
    await expect.poll(() => status({ authorization: `Bearer ${reader}` })).toBe(403); // it lacks the scope
    expect(await status({})).toBe(400); // no session
    expect(await status({ "mcp-session-id": "unknown" })).toBe(404);
    expect(await status({}, "{nonsense")).toBe(400);
    expect(await status({}, "[]")).toBe(400);
    expect(await status({}, `${"[".repeat(100_000)}${"]".repeat(100_000)}`)).toBe(400);
    expect(await announced(port, { ...good, "content-length": "17000000" })).toBe(413);
    expect(await status({ "mcp-protocol-version": "1999-01-01" })).toBe(400);
    const nameless = JSON.stringify({ jsonrpc: "2.0", method: "initialize", params: begin });
    expect(await status({}, nameless)).toBe(400); // nobody would know the session it began
    const { session } = await post(port, good, initialize);
    expect(session.length).toBeGreaterThan(20);
    expect(await status({ "mcp-session-id": session })).toBe(200);
    const other = JSON.parse(
      (await bench.tenon(["gateway", "token", "create", "x", "--scopes", "tools", "--json"])).stdout,
    );
    const foreign = { authorization: `Bearer ${other.token}`, "mcp-session-id": session };
    await expect.poll(() => status(foreign)).toBe(404); // another token's session is nobody's
    const begun = await Promise.all(Array.from({ length: 20 }, () => post(port, good, initialize)));
    expect(begun.filter(({ text }) => text.includes("there are 16 clients already"))).toHaveLength(5);
    await using client = await servedClient(bench, { http: { ...http, token: other.token } });
    expect(textOf(await client.callTool({ name: "work__echo", arguments: { text: "still" } }))).toContain("still");
  },
);

scenario(
  ["V308", "V310"],
  "a client that sends nonsense, floods and cancels is answered as far as it can be",
  async () => {
    const stuck: Behaviour = {
      tools: [
        { name: "stuck", steps: [{ do: "await_cancel" }], reply: { kind: "text", text: "too late" } },
        echoTool(),
      ],
      recordFile: "",
    };
    await using bench = await open({});
    const recordFile = join(bench.root, "record");
    bench.put("home/config.json", { mcpServers: { work: entry({ ...stuck, recordFile }) }, permissions: ALLOW });
    await using raw = new RawServe(bench);
    raw.write({ jsonrpc: "2.0", id: 0, method: "tools/list" });
    expect(await raw.next(({ id }) => id === 0)).toMatchObject({ error: { code: -32_600 } });
    await raw.initialize();
    for (const nonsense of ["{nonsense", "[1]", "null", "\u0000\u0001", `${"[".repeat(50_000)}`]) raw.write(nonsense);
    raw.write({ jsonrpc: "2.0", id: {}, method: "tools/list" });
    raw.write({ jsonrpc: "2.0", id: "unasked", result: {} });
    raw.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "nobody" } });
    raw.write({ jsonrpc: "2.0", method: "notifications/nonsense", params: 7 });
    raw.write({ jsonrpc: "2.0", id: "odd", method: "tools/call", params: { name: 7 } });
    expect(await raw.next(({ id }) => id === "odd")).toMatchObject({ error: { code: -32_602 } });
    raw.write({ jsonrpc: "2.0", id: "huge", method: "tools/call", params: { name: "x".repeat(40_000_000) } });
    expect(await raw.next(({ id }) => id === "huge")).toMatchObject({ error: { code: -32_600 } });
    raw.write({ jsonrpc: "2.0", id: "hangs", method: "tools/call", params: { name: "work__stuck" } });
    raw.write({ jsonrpc: "2.0", id: "hangs", method: "ping" });
    expect(await raw.next(({ id }) => id === "hangs")).toMatchObject({ error: { code: -32_600 } }); // the second one
    raw.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "hangs" } });
    expect(await raw.call("after", "work__echo", { text: "on" })).toMatchObject({ result: { isError: false } });
    for (let count = 0; count < 2_000; count += 1) {
      raw.write({ jsonrpc: "2.0", id: `flood-${count}`, method: "tools/call", params: { name: "work__stuck" } });
    }
    const refused = await raw.next(({ id, error }) => id === "flood-1999" && error !== undefined);
    expect(JSON.stringify(refused)).toContain("64 requests of this client are under way");
    raw.write({ jsonrpc: "2.0", id: "p", method: "ping" });
    expect(await raw.next(({ id }) => id === "p")).toMatchObject({ error: { code: -32_000 } });
    for (let count = 0; count < 64; count += 1) {
      raw.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: `flood-${count}` } });
    }
    let tries = 0;
    const again = async () => {
      tries += 1;
      return (await raw.call(`last-${tries}`, "work__echo", { text: "on" }))["result"];
    };
    await expect.poll(again).toMatchObject({ isError: false });
  },
);

scenario(["V309"], "the end of input and every stop signal leave nothing behind", async () => {
  await using bench = await ConfigBench.open();
  for (const how of ["end", "SIGTERM", "SIGHUP", "SIGINT"] as const) {
    const stubborn = how === "SIGTERM" ? { ignoresSigterm: true, ignoresEof: true } : {};
    bench.put("home/config.json", { mcpServers: { work: entry({ ...WORK, ...stubborn }) } });
    await using raw = new RawServe(bench);
    await raw.initialize();
    raw.write({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    await raw.next(({ id }) => id === 1);
    if (how === "end") raw.child.stdin.end();
    else raw.child.kill(how);
    expect(await raw.ended()).toBe(how === "end" ? 0 : 130);
  }
});

scenario(["V313"], "another Tenon uses it as any other server, over stdio and over HTTP", async () => {
  await using bench = await open({ work: entry(WORK) }, { permissions: ALLOW });
  await using http = await serveOverHttp(bench, ["--own-names"]);
  await using other = await ConfigBench.open();
  const env = cleanEnv(bench.home, { HOME: bench.home, TENON_LOG: "error" });
  const args = [TENON, "mcp", "serve"];
  const headers = { Authorization: `Bearer ${http.token}` };
  other.put("home/config.json", {
    mcpServers: {
      stdio: { command: agentNode(), args, env, cwd: bench.project },
      remote: { type: "http", url: http.url, headers },
    },
  });
  const listed = JSON.parse((await other.tenon(["mcp", "list", "--json"])).stdout).servers;
  const live = Object.fromEntries(
    listed.map(({ name, live: { state, era, tools } }: { name: string; live: Live }) => [name, [state, era, tools]]),
  );
  expect(live).toEqual({ stdio: ["ready", "modern", 8], remote: ["ready", "modern", 8] });
  expect((await other.tenon(["mcp", "call", "stdio", "work__echo", "text=hi"])).stdout).toContain("hi");
  expect((await other.tenon(["mcp", "call", "remote", "echo", "text=hi"])).stdout).toContain("hi");
});

interface Live {
  readonly state: string;
  readonly era: string;
  readonly tools: number;
}
