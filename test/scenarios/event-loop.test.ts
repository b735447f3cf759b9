// Nothing that comes from outside holds the event loop: hostile ignore files, rules and texts, behind the built `tenon acp`.
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import { BUILTIN_LIMITS } from "../../src/builtin/limits.js";
import { watchEventLoop } from "../../src/testing/lab/machine.js";
import { decide, type PolicyRule } from "../../src/tools/index.js";
import { TestSession } from "../builtin-session.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { inEditor } from "./builtin/editor.js";
import { callOptions, connected, remoteSpec } from "./real-server.js";
import { scenario } from "./scenario.js";

/** CPU time of this thread, so that a busy machine does not count. */
const MAX_HELD_MS = 50;

/** Thousands of rules, each of which has to look at the whole name of every file. */
const HOSTILE_IGNORE = "*a*b\n*a?a*c\n".repeat(5_000);

scenario(
  ["H200"],
  "hostile .gitignore patterns cost find_files and grep milliseconds, and the result says what was left out",
  async () => {
    await using session = new TestSession();
    session.write(".gitignore", HOSTILE_IGNORE);
    for (let index = 0; index < 150; index++) session.write(`${"a".repeat(220)}${index}.txt`, "needle\n");
    const found = await watchEventLoop(() => session.say("find_files", { pattern: "**/*a*a*a*9.txt" }));
    expect(found.longestMs).toBeLessThan(MAX_HELD_MS);
    expect(found.value).toContain("9.txt");
    expect(found.value).toContain("[The .gitignore files have more or longer rules than are used.]");
    const searched = await watchEventLoop(() => session.say("grep", { pattern: "(?=needle)needle", limit: 1 }));
    expect(searched.value).toContain("1: needle");
    expect(searched.longestMs).toBeLessThan(MAX_HELD_MS);
  },
  { timeoutMs: 20_000 },
);

const ASK_ALL_RULES = Array.from({ length: 60 }, (_, index) => ({
  effect: "deny",
  tool: "write_file",
  arguments: [{ pointer: "/content", glob: `*${"a".repeat(15_000)}b${index}` }],
}));

scenario(
  ["H201"],
  "60 globs of an untrusted project's deny rules do not hold up an ordinary write, here and in another session",
  () =>
    inEditor(
      { files: { ".tenon/config.json": JSON.stringify({ permissions: { rules: ASK_ALL_RULES } }) } },
      async (editor) => {
        const content = "a".repeat(20_000);
        const startMs = performance.now();
        const result = await editor.call("write_file", { path: "notes.txt", content });
        expect(result).toContain("Created notes.txt");
        expect(performance.now() - startMs).toBeLessThan(8_000);
        // What the rules cannot tell within their steps is put to the person.
        expect(editor.questions).toHaveLength(1);
        const rules: readonly PolicyRule[] = ASK_ALL_RULES.map((rule) => ({ ...rule, effect: "deny" as const }));
        const { longestMs, value } = await watchEventLoop(async () =>
          decide(
            {
              origin: "builtin",
              server: "tenon",
              tool: "write_file",
              trustsAnnotations: true,
              arguments: { content },
              paths: { folders: new Map(), values: new Map() },
              mode: "ask",
              mayBypass: false,
            },
            rules,
          ),
        );
        expect(value.effect).toBe("ask");
        expect(longestMs).toBeLessThan(MAX_HELD_MS);
      },
    ),
  { timeoutMs: 20_000 },
);

scenario(
  ["H202"],
  "a change of 130,000 lines is written, shown in part, and holds nobody up",
  () => {
    const before = Array.from({ length: 130_000 }, (_, index) => `line ${index}\n`).join("");
    return inEditor({ files: { "big.txt": before } }, async (editor) => {
      const content = before.replaceAll("line", "row");
      const result = await editor.call("write_file", { path: "big.txt", content });
      expect(result).toContain("Changed big.txt: 130000 lines added, 130000 removed.");
      expect(editor.project.read("big.txt")).toBe(content);
      await using session = new TestSession();
      session.write("big.txt", before);
      const written = await watchEventLoop(() => session.say("write_file", { path: "big.txt", content }));
      expect(written.value).toContain("[The diff is cut here: it is too long to be shown.]");
      expect(written.value.length).toBeLessThan(BUILTIN_LIMITS.diff.maxShownBytes + 1_000);
      expect(written.longestMs).toBeLessThan(MAX_HELD_MS);
    });
  },
  { timeoutMs: 20_000 },
);

scenario(
  ["H203"],
  "a page of 5 MB is read without holding the event loop, and its text is bounded",
  async () => {
    const pages = ["<p>word <a href=/x>link</a>", "<b>", "</i>", "<li>&amp;<td>", "<a href=x>y", "<p a='"];
    for (const part of pages) {
      const body = Buffer.from(part.repeat(Math.floor(BUILTIN_LIMITS.fetchMaxBytes / part.length)));
      await using site = await httpServer((_, response) => {
        response.writeHead(200, { "content-type": "text/html" }).end(body);
      });
      await using session = new TestSession({ allowHosts: () => [`127.0.0.1:${site.port}`] });
      const { value, longestMs } = await watchEventLoop(() => session.say("fetch_url", { url: site.url }));
      expect(value).toMatch(/^done: \[from /u);
      expect(longestMs, part).toBeLessThan(MAX_HELD_MS);
    }
  },
  { timeoutMs: 30_000 },
);

/** Answers a call with any number of progress notices, each with a message of any length. */
const CHATTERBOX = `
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") {
      const serverInfo = { name: "chatterbox", version: "1" };
      say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
    } else if (method === "tools/list") {
      say({ id, result: { tools: [{ name: "talk", inputSchema: { type: "object" } }] } });
    } else if (method === "tools/call") {
      const { progressToken } = params._meta;
      for (let progress = 1; progress <= 20000; progress++) {
        say({ method: "notifications/progress", params: { progressToken, progress, message: "m".repeat(1000) } });
      }
      say({ id, result: { content: [{ type: "text", text: "said it all" }] } });
    } else if (id !== undefined) say({ id, error: { code: -32601, message: "no" } });
  });
`;

scenario(
  ["H204"],
  "of 20,000 progress notices a client gets as many as it can draw, each cut, the last one included",
  async () => {
    using folder = new TemporaryFolder();
    const program = join(folder.path, "chatterbox.cjs");
    writeFileSync(program, CHATTERBOX);
    const server = { name: "chatterbox", command: process.execPath, args: [program], env: [] };
    await inEditor({ mcpServers: [server] }, async (editor) => {
      expect(await editor.call("mcp__chatterbox__talk")).toContain("said it all");
      const drawn = editor.updates.filter(
        (update) => update.sessionUpdate === "tool_call_update" && JSON.stringify(update).includes("mmm"),
      );
      expect(drawn.length).toBeGreaterThan(0);
      expect(drawn.length).toBeLessThan(400);
      expect(JSON.stringify(drawn.at(-1))).toContain("20000");
      for (const update of drawn) expect(JSON.stringify(update).length).toBeLessThan(1_500);
    });
  },
  { timeoutMs: 30_000 },
);

const EVENT_IDS: readonly (readonly [string, boolean])[] = [
  ["id: 日本→1", true], // sent as its UTF-8
  ["id: a\u0001b", false], // no header can carry it
];

scenario(
  ["H205"],
  "an event id outside Latin-1 is sent as UTF-8, one that no header can carry ends the call at once, as a 101 does",
  async () => {
    for (const [id, isResumed] of EVENT_IDS) {
      const resumedFrom: unknown[] = [];
      await using server = await mcpOverHttp((_, response, call) => {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(`${id}\nretry: 1\ndata:\n\n`);
        return (request, stream) => {
          resumedFrom.push(request.headers["last-event-id"]);
          const result = { content: [{ type: "text", text: "resumed" }] };
          stream.writeHead(200, { "content-type": "text/event-stream" });
          stream.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: call, result })}\n\n`);
        };
      });
      await using connection = await connected(remoteSpec("odd", server.url), "/");
      const startMs = performance.now();
      const outcome = await connection.call("ask", {}, callOptions());
      expect(performance.now() - startMs).toBeLessThan(5_000);
      expect(outcome.kind).toBe(isResumed ? "answered" : "unknown");
      expect(resumedFrom).toEqual(isResumed ? [Buffer.from("日本→1").toString("latin1")] : []);
    }
    await using server = await mcpOverHttp((request) => {
      request.socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n");
      return undefined;
    });
    await using connection = await connected(remoteSpec("odd", server.url), "/");
    const startMs = performance.now();
    const outcome = await connection.call("ask", {}, callOptions());
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(outcome).toMatchObject({ kind: "unknown", error: { message: expect.stringContaining("another protocol") } });
  },
  { timeoutMs: 30_000 },
);

scenario(
  ["H206"],
  "a model that falls silent is asked again where nothing was said, and ends the turn with a reason where something was",
  async () => {
    using home = new TemporaryFolder();
    using folder = new TemporaryFolder();
    let requests = 0;
    await using provider = await httpServer((_, response) => {
      requests += 1;
      if (requests === 1) return; // never answers
      const say = (delta: object, finish: string | null = null) => {
        const chunk = {
          id: "1",
          object: "chat.completion.chunk",
          created: 1,
          model: "m",
          choices: [{ index: 0, delta, finish_reason: finish }],
        };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      };
      response.writeHead(200, { "content-type": "text/event-stream" });
      say({ role: "assistant", content: requests === 2 ? "Here I am." : "And then" });
      if (requests !== 2) return; // silent in the middle of it
      say({}, "stop");
      response.end("data: [DONE]\n\n");
    });
    const model = "openai-compatible/quiet";
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ models: { [model]: { silenceMs: 1_000 } } }));
    const env = { TENON_MODEL: model, TENON_BASE_URL: `${provider.url}v1`, TENON_API_KEY: "key" };
    await using client = await startTenon(home, { env, permissions: "allow" });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: folder.path, mcpServers: [] });
    expect(await client.prompt(sessionId, "hello")).toMatchObject({ stopReason: "end_turn" });
    expect(client.text(sessionId)).toContain("Here I am.");
    const failed = await client.prompt(sessionId, "and again").catch((thrown: unknown) => thrown);
    expect(
      `${JSON.stringify(failed)}${failed instanceof Error ? failed.message : ""}${JSON.stringify(client.updates(sessionId))}`,
    ).toContain("has sent nothing for 1 s");
  },
  { timeoutMs: 30_000 },
);

interface Site extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

async function httpServer(answer: RequestListener): Promise<Site> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A server of the legacy era; its one tool is answered by the test, which may say how the stream is taken up again. */
async function mcpOverHttp(
  onCall: (request: IncomingMessage, response: ServerResponse, id: unknown) => RequestListener | undefined,
): Promise<Site> {
  let onGet: RequestListener | undefined;
  return await httpServer((request, response) => {
    if (request.method !== "POST") {
      if (onGet) onGet(request, response);
      else response.writeHead(405).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const say = (result: object) => {
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      };
      if (method === "initialize") {
        const { protocolVersion } = params;
        say({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } });
      } else if (method === "tools/list") say({ tools: [{ name: "ask", inputSchema: { type: "object" } }] });
      else if (method === "tools/call") onGet = onCall(request, response, id);
      else response.writeHead(id === undefined ? 202 : 400).end();
    });
  });
}
