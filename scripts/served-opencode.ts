// opencode as a client of `tenon mcp serve`: over stdio and over HTTP with a token, in one run of each.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { echoTool, scriptedServer } from "../src/testing/index.js";
import {
  answerText,
  answerToolCall,
  type FakeProvider,
  fakeProvider,
  type ProviderReply,
  type ProviderRequest,
} from "../src/testing/lab/index.js";
import { ROOT, run } from "./lib/run.js";

const TENON = join(ROOT, "dist/cli/main.js");
const WORD = "carried through tenon";
/** As opencode names it: its own name of the server, then the name that is served. */
const TOOL = "tenon_work__echo";
const DONE = "The echo answered.";
const RUN_MS = 180_000;

export interface ServedRun {
  readonly way: string;
  /** Undefined: the tool was listed, called, and its answer reached the model. */
  readonly problem: string | undefined;
}

/** Neither run asks anything outside this machine but what opencode looks for by itself. */
export async function runServedOpencode(opencode: string): Promise<readonly ServedRun[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tenon-served-")));
  try {
    const { command, args } = scriptedServer({ tools: [echoTool()] });
    const config = { mcpServers: { work: { command, args } }, permissions: { rules: [{ effect: "allow" }] } };
    writeFileSync(join(root, "config.json"), JSON.stringify(config));
    const env = { PATH: process.env["PATH"] ?? "", HOME: root, TENON_HOME: root, TENON_LOG: "error" };
    const local = {
      type: "local",
      command: [process.execPath, TENON, "mcp", "serve"],
      environment: env,
      enabled: true,
    };
    const stdio = await runWith(local, { opencode, root });
    await using http = await serveHttp(root, env);
    const headers = { Authorization: `Bearer ${http.token}` };
    const remote = { type: "remote", url: http.url, headers, oauth: false, enabled: true };
    return [
      { way: "stdio", problem: stdio },
      { way: "http", problem: await runWith(remote, { opencode, root }) },
    ];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function runWith(
  entry: object,
  { opencode, root }: { readonly opencode: string; readonly root: string },
): Promise<string | undefined> {
  await using fake = await fakeProvider();
  fake.replyWith(replyTo);
  const cwd = join(root, "project");
  mkdirSync(cwd, { recursive: true });
  const models = { model: { tool_call: true } };
  const provider = { npm: "@ai-sdk/openai-compatible", options: { baseURL: fake.url, apiKey: "x" }, models };
  const config = { model: "fake/model", provider: { fake: provider }, mcp: { tenon: entry }, permission: "allow" };
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, OPENCODE_CONFIG_CONTENT: JSON.stringify(config) };
  const { code, output } = await run(opencode, ["run", "Call the echo."], { cwd, env, timeoutMs: RUN_MS });
  return problemOf(fake, code === 0 && output.includes(DONE) ? undefined : output.slice(-2_000));
}

function problemOf(fake: FakeProvider, failed: string | undefined): string | undefined {
  const bodies = fake.requests.map(({ body }) => JSON.stringify(body));
  if (!bodies.some((body) => body.includes(`"${TOOL}"`))) return `the model was not offered ${TOOL}; ${failed ?? ""}`;
  const isAnswered = bodies.some((body) => body.includes('"role":"tool"') && body.includes(WORD));
  return isAnswered ? failed : `the answer of the tool did not reach the model; ${failed ?? ""}`;
}

/** Requests without the tool are opencode's own, for a title. */
function replyTo({ body }: ProviderRequest): ProviderReply {
  const asked = JSON.stringify(body);
  const isCalled = asked.includes('"role":"tool"');
  return asked.includes(`"${TOOL}"`) && !isCalled ? answerToolCall(TOOL, { text: WORD }) : answerText(DONE);
}

interface Served extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

async function serveHttp(root: string, env: NodeJS.ProcessEnv): Promise<Served> {
  const words = ["gateway", "token", "create", "opencode", "--scopes", "tools", "--json"];
  const { output } = await run(process.execPath, [TENON, ...words], { cwd: root, env });
  const { token } = JSON.parse(output.slice(output.indexOf("{")));
  const args = [TENON, "mcp", "serve", "--listen", "0"];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  return {
    url: await addressOf(child),
    token: String(token),
    [Symbol.asyncDispose]: async () => {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await gone;
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.once("exit", () => reject(new Error(`tenon mcp serve ended:\n${said}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      said = `${said}${String(chunk)}`.slice(-10_000);
      const [, address] = /listens at (\S+)/u.exec(said) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
}
