// The MCP servers that checks hand to the agent: scripted servers of the testing kit, with a record of what reached them.
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseObject } from "../../base/json/json.js";
import {
  type Behaviour,
  echoTool,
  type HttpRequestRecord,
  MemoryServer,
  ScriptedHttpServer,
  type Step,
  type ToolScript,
} from "../../testing/index.js";
import { CLI_LIMITS } from "../limits.js";
import { waitUntil } from "./check.js";
import { objectIn } from "./fields.js";

/** A server of the checker: the entry a client sends for it, and what reached it. */
export interface TestServer {
  readonly name: string;
  /** Its first tool. */
  readonly tool: string;
  readonly entry: JsonObject;
  /** The messages that it received. */
  received(): readonly JsonObject[];
  /** For each start of its process: the names of all environment variables, and the values of the recorded ones. */
  starts(): readonly JsonObject[];
  requests(): readonly Pick<HttpRequestRecord, "method" | "headers">[];
  /** Processes of it that live now. */
  living(): readonly number[];
  /** Ends it with all its processes, which may ignore SIGTERM. */
  end(): Promise<void>;
}

const CRASH_CODE = 3;

/** A 2×2 picture; checks look for its data in what the model and the client get. */
export const IMAGE_DATA =
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGPQ6Ik6wc3EUOEWdYKXEQAc0APSGsBuFQAAAABJRU5ErkJggg==";

/** `hold` never answers, until it is cancelled; `crash` ends the server. */
const TOOLS: Readonly<Record<"echo" | "image" | "error" | "hold" | "crash", Partial<ToolScript>>> = {
  echo: {},
  image: { reply: { kind: "content", content: [{ type: "image", data: IMAGE_DATA, mimeType: "image/png" }] } },
  error: { reply: { kind: "error", text: "this tool always fails" } },
  hold: { steps: [{ do: "never" }] },
  crash: { steps: [{ do: "crash", exitCode: CRASH_CODE }] },
};

export function tool(name: string, kind: keyof typeof TOOLS): ToolScript {
  return { ...echoTool(name), ...TOOLS[kind] };
}

/** Ends at once, with these words on stderr. */
export function failure(stderr: string): Behaviour {
  return { steps: { start: [{ do: "crash", exitCode: CRASH_CODE, stderr }] } };
}

export function initialize(step: Step): Behaviour {
  return { steps: { initialize: [step] } };
}

export interface StdioOptions {
  readonly name: string;
  readonly behaviour: Behaviour;
  /** Where the behaviour is written to; the path is in the command line of all processes of the server. */
  readonly path: string;
  /** Replaces the usual fields of the entry: the command is then one file that takes no arguments. */
  readonly bareEntry?: JsonObject | undefined;
  readonly env?: readonly JsonObject[];
}

export function stdioServer(options: StdioOptions): TestServer {
  const { name, behaviour, path, bareEntry, env = [] } = options;
  const recordFile = `${path}.log`;
  const recorded = { recordEnv: [], maxLifetimeMs: CLI_LIMITS.acpCheckActs.serverLifeMs, ...behaviour, recordFile };
  writeFileSync(path, JSON.stringify(recorded));
  // The program of this process, started once more, is the server.
  const words = [process.execPath, process.argv[1] ?? "", "acp-check", "--server", path];
  const [command = "", ...args] = bareEntry ? [shellScript(`${path}.sh`, words)] : words;
  const records = (kind: string) => readRecords(recordFile).flatMap((one) => one[kind] ?? []);
  const objects = (kind: string) => records(kind).filter((one) => isJsonObject(one));
  const pids = () => [...objects("started").map(({ pid }) => pid), ...records("child")].map(Number);
  const living = () => [...new Set(pids())].filter((pid) => pid > 1 && isAlive(pid, path));
  return {
    name,
    tool: behaviour.tools?.[0]?.name ?? "",
    entry: { name, command, ...(bareEntry ?? { args, env }) },
    received: () => objects("received"),
    starts: () => objects("started"),
    requests: () => [],
    living,
    end: async () => {
      for (const pid of living()) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // it ended by itself in the meantime
        }
      }
    },
  };
}

/** A failing server answers every request with status 500 and these words. */
export async function remoteServer(
  type: "http" | "sse",
  options: Pick<StdioOptions, "name" | "behaviour"> & { readonly headers?: readonly JsonObject[] | undefined },
  failing?: string,
): Promise<TestServer> {
  const { name, behaviour, headers } = options;
  const server = await ScriptedHttpServer.start(behaviour, type === "sse" ? { transport: "sse" } : {});
  if (failing !== undefined) server.misbehave({}, { kind: "answer", status: 500, body: failing });
  return {
    ...inProcess(name, behaviour),
    entry: { type, name, url: server.url, ...defined({ headers }) },
    received: () => server.requests.flatMap(({ message }) => (message ? [message] : [])),
    requests: () => server.requests,
    end: () => server[Symbol.asyncDispose](),
  };
}

/** Lives in the checker and is reached over ACP itself. */
export function acpServer(
  serverId: string,
  { name, behaviour }: Pick<StdioOptions, "name" | "behaviour">,
): { readonly kept: TestServer; readonly server: MemoryServer } {
  const server = new MemoryServer({ era: "modern", ...behaviour });
  const kept = {
    ...inProcess(name, behaviour),
    entry: { type: "acp", name, serverId },
    received: () => server.received,
    end: () => server[Symbol.asyncDispose](),
  };
  return { kept, server };
}

function inProcess(name: string, { tools }: Behaviour): Omit<TestServer, "entry" | "received" | "end"> {
  return { name, tool: tools?.[0]?.name ?? "", starts: () => [], requests: () => [], living: () => [] };
}

/** The params of the messages with this method that reached the server. */
export function receivedBy(server: TestServer, method: string): readonly JsonObject[] {
  return server.received().flatMap((message) => (message["method"] === method ? [objectIn(message["params"])] : []));
}

export function isInitialized(server: TestServer): boolean {
  return receivedBy(server, server.entry["type"] === "acp" ? "server/discover" : "initialize").length > 0;
}

export async function receivesWithin(server: TestServer, method: string, ms: number): Promise<boolean> {
  return await waitUntil(() => receivedBy(server, method).length > 0, ms);
}

function shellScript(file: string, words: readonly string[]): string {
  const quoted = words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  writeFileSync(file, `#!/bin/sh\nexec ${quoted.join(" ")}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** The last line may be half written: then it is there the next time. */
function readRecords(path: string): readonly JsonObject[] {
  const lines = contentOf(path).split("\n");
  return lines.map((line) => parseObject(line)).filter((record) => record !== undefined);
}

/** `mark` is a word of its command line: the pid alone may belong to another process by now. */
function isAlive(pid: number, mark: string): boolean {
  if (process.platform === "linux") return contentOf(`/proc/${pid}/cmdline`).includes(mark);
  try {
    return execFileSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], { encoding: "utf8" }).includes(mark);
  } catch {
    return false;
  }
}

/** Empty for a file that does not exist, and for a process that has ended. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
