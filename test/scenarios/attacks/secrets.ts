// The attack matrix: secrets x sinks. One run of the built product has all secrets in all places; each cell looks at one sink for one.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { startAgent } from "../../../src/testing/index.js";
import { answerText, type ContentPart, fakeProvider } from "../../../src/testing/lab/index.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";
import { agentNode, TENON } from "../peers.js";
import { runCommand } from "../run-command.js";
import type { AttackCell } from "./cell.js";

const PEM_LINES = ["MIIEowIBAAKCAQEAq7Zk0", "xTjv9wQmPc2Lr8Yd5NfHs", "Kb4uVgRz1EoWt6XyJaCi0"];
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${PEM_LINES.join("\n")}\n-----END RSA PRIVATE KEY-----`;

interface Kind {
  readonly name: string;
  readonly variable: string;
  readonly value: string;
  /** Any of these, anywhere, is the secret. */
  readonly telling: readonly string[];
}

function kind(variable: string, value: string, telling: readonly string[] = [value], name = variable): Kind {
  return { name, variable, value, telling };
}

const KINDS: readonly Kind[] = [
  kind("DB_PASS", "hunter2-db-pass"),
  kind("SSH_KEY_PASSPHRASE", "correct-horse-battery"),
  kind("DEPLOY_PEM", PEM, PEM_LINES, "a PEM of several lines"),
  kind("PGPASSWORD", "pg-swordfish-77"),
  kind("MYSQL_PWD", "mysql-swordfish-78"),
  kind("SSHPASS", "ssh-swordfish-79"),
  kind("npm_config_//registry.example/:_authToken", "npm-swordfish-80", undefined, "an npm token"),
  kind("COLOUR", `github_pat_${"11ABCDEFG0ab".repeat(4)}`, undefined, "a github_pat value under an innocent name"),
  kind("ANTHROPIC_API_KEY", "provider-key-swordfish-81", undefined, "a provider's API key"),
  kind("DATABASE_URL", "postgres://app:url-swordfish-82@db/x", ["url-swordfish-82"], "a URL with a password"),
];

/** A key that nobody configured: the server read it from a file, and prints it line by line. */
const FOUND_LINES = ["MIIBOgIBAAJBAKj34GkxFhD", "90vcNLYLInFEX6Ppy1tPf9C"];
const FOUND: Kind = {
  name: "a PEM that only the server knows",
  variable: "",
  value: `-----BEGIN PRIVATE KEY-----\n${FOUND_LINES.join("\n")}\n-----END PRIVATE KEY-----`,
  telling: FOUND_LINES,
};

const PROGRAM = `
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const NAMES = ${JSON.stringify(KINDS.map(({ variable }) => variable))};
const known = NAMES.flatMap((name) => (process.env[name] ? [process.env[name]] : []));
const all = [...known, ${JSON.stringify(FOUND.value)}, ...known.flatMap((value) => value.includes("@") ? [new URL(value).password] : [])];
const TOOLS = ["trouble", "fault", "variables"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  if (method === "initialize") {
    const capabilities = { tools: {}, logging: {} };
    return send({ id, result: { protocolVersion: params.protocolVersion, serverInfo: { name: "t", version: "1" }, capabilities } });
  }
  if (method === "tools/list") return send({ id, result: { tools: TOOLS } });
  if (method !== "tools/call") return send({ id, result: {} });
  if (params.name === "variables") return send({ id, result: { content: [{ type: "text", text: JSON.stringify(process.env) }] } });
  for (const line of all.join("\\n").split("\\n")) {
    process.stderr.write("using " + line + "\\n");
    send({ method: "notifications/message", params: { level: "warning", data: "using " + line } });
  }
  const text = "cannot log in with " + all.join(" or ");
  if (params.name === "fault") return send({ id, error: { code: -32000, message: text } });
  setTimeout(() => send({ id, result: { isError: true, content: [{ type: "text", text }] } }), 50);
});
`;

/** Everything that was said and kept in one run, by sink. */
type Seen = Readonly<Record<(typeof SINKS)[number], string>>;

const SINKS = [
  "the environment of a command",
  "the environment of another server",
  "errors to the model",
  "the editor: updates and questions",
  "the log of a server (tenon mcp logs)",
  "the journal",
  "the trace",
  "tenon doctor",
] as const;

let run: Promise<Seen> | undefined;

async function everything(): Promise<Seen> {
  using home = new TemporaryFolder();
  const program = join(home.path, "talker.mjs");
  writeFileSync(program, PROGRAM);
  const secrets = Object.fromEntries(KINDS.map(({ variable, value }) => [variable, value]));
  const server = { command: process.execPath, args: [program] };
  const config = { mcpServers: { talker: { ...server, env: secrets }, other: server } };
  writeFileSync(join(home.path, "config.json"), JSON.stringify(config));
  await using provider = await fakeProvider();
  const model = { TENON_MODEL: "anthropic/claude-sonnet-5-5", ANTHROPIC_BASE_URL: provider.origin };
  const env = cleanEnv(home.path, { ...secrets, ...model, HOME: home.path });
  const call = (name: string, given: Record<string, string> = {}): ContentPart => ({
    kind: "tool_call",
    name,
    arguments: given,
  });
  provider.reply(
    {
      kind: "answer",
      parts: [
        call("run_command", { command: "env" }),
        call("run_command", { command: "env; exit 3" }),
        call("mcp__other__variables"),
        call("mcp__talker__trouble"),
        call("mcp__talker__fault"),
      ],
    },
    answerText("done"),
  );
  const trace = join(home.path, "trace.ndjson");
  const command = { command: agentNode(), args: [TENON, "acp", "--trace", trace], env, cwd: home.path };
  const agent = startAgent(command, { permissions: "allow" });
  await agent.initialize();
  const { sessionId } = await agent.newSession({ cwd: home.path });
  await agent.prompt(sessionId, "go");
  const editor = JSON.stringify([agent.updates(sessionId), agent.permissionRequests]);
  await agent.end();
  const tenon = async (...args: readonly string[]) => {
    const { stdout, stderr } = await runCommand(agentNode(), [TENON, ...args], { env, cwd: home.path });
    return stdout + stderr;
  };
  const bodies = JSON.stringify(provider.requests.map(({ body }) => body));
  const state = readdirSync(home.path, { recursive: true, withFileTypes: true }).filter(
    (file) =>
      file.isFile() && file.name !== "config.json" && file.name !== "trace.ndjson" && !file.name.endsWith(".log"),
  );
  const [logs, doctor] = await Promise.all([tenon("mcp", "logs", "talker"), tenon("doctor", "--no-connect")]);
  return {
    "the environment of a command": bodies,
    "the environment of another server": bodies,
    "errors to the model": bodies,
    "the editor: updates and questions": editor,
    "the log of a server (tenon mcp logs)": logs,
    "the journal": state
      .filter(({ name }) => name !== "talker.mjs")
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"))
      .join("\n"),
    "the trace": readFileSync(trace, "utf8"),
    "tenon doctor": doctor,
  };
}

/** What shows that the sink was really reached: a cell that sees nothing proves nothing. */
const REACHED: Readonly<Record<(typeof SINKS)[number], RegExp>> = {
  "the environment of a command":
    /GIT_TERMINAL_PROMPT=0[\s\S]*not passed to commands[^\]]*PGPASSWORD[^\]]*commands\.env\.allow/u,
  "the environment of another server": /\\\\?"PATH\\\\?/u,
  "errors to the model": /cannot log in with/u,
  "the editor: updates and questions": /cannot log in with/u,
  "the log of a server (tenon mcp logs)": /stderr: using \[redacted\]/u,
  "the journal": /cannot log in with/u,
  "the trace": /cannot log in with/u,
  "tenon doctor": /not given to commands[\s\S]*COLOUR[\s\S]*PGPASSWORD/u,
};

function cell(secret: Kind, sink: (typeof SINKS)[number]): AttackCell {
  return {
    row: secret.name,
    column: sink,
    run: async () => {
      run ??= everything();
      const seen = (await run)[sink];
      expect(seen).toMatch(REACHED[sink]);
      expect(secret.telling.filter((part) => seen.includes(part))).toEqual([]);
    },
  };
}

const OF_THE_SERVER: readonly (typeof SINKS)[number][] = [
  "errors to the model",
  "the editor: updates and questions",
  "the log of a server (tenon mcp logs)",
];

export const SECRET_CELLS: readonly AttackCell[] = [
  ...KINDS.flatMap((secret) => SINKS.map((sink) => cell(secret, sink))),
  ...OF_THE_SERVER.map((sink) => cell(FOUND, sink)),
];
