// Where the examples of the documents run: a home and a project of their own, with servers of the names they use.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { scriptedServer } from "../../src/testing/index.js";
import { type AuthServer, authServer, type ProtectedServer, protectedServer } from "../../src/testing/lab/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, peerFile, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";

const ROOT = join(import.meta.dirname, "../..");

export interface DocsPlace extends AsyncDisposable {
  readonly project: string;
  readonly home: string;
  /** The server that wants a log-in; none in an empty place. */
  readonly linearUrl?: string;
  /** As a person would type it there. */
  run(line: string, input?: string): Promise<CommandResult>;
  /** Types it and leaves it running once it has printed something; resolves with what it printed. It ends with the place. */
  serve(line: string): Promise<string>;
}

export interface PlaceOptions {
  /** Nothing is configured, as for somebody who comes here for the first time. */
  readonly isEmpty?: boolean;
  /** The project has a server of its own that nobody has approved. */
  readonly isUntrusted?: boolean;
  /** Where `tenon` is found; the one that is tested unless given. */
  readonly programs?: string;
}

export async function docsPlace(options: PlaceOptions = {}): Promise<DocsPlace> {
  const { isEmpty = false, isUntrusted = false, programs } = options;
  const folder = new TemporaryFolder();
  const [home, project, bin] = ["home", "project", "bin"].map((name) => join(folder.path, name));
  if (home === undefined || project === undefined || bin === undefined) throw new Error("there is no place");
  for (const path of [home, project, bin, join(home, ".config/fish/completions")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(project, "README.md"), "# A project\n\nof somebody's.\n");
  if (programs === undefined) program(bin, "tenon", `exec "${agentNode()}" "${TENON}" "$@"`);
  linkPackages(project);
  writeFileSync(join(project, "prompt.md"), "what tools are there?\n");
  writeFileSync(join(project, "changes.diff"), "+ one line\n");
  mkdirSync(join(project, ".cursor"));
  writeFileSync(join(project, ".cursor/mcp.json"), '{"mcpServers": {"notes": {"command": "notes-mcp"}}}');
  // Stands for a registry: what `npx` would download is what lies here, so the words that keep it out of the folder are left out.
  program(bin, "npx", `if [ "$1" = --prefix ]; then shift 4; fi\nPATH=\${PATH##*"${bin}":} exec npx "$@"`);
  const lab = isEmpty ? undefined : await configure(home);
  const build = scriptedServer({ tools: [{ name: "make", reply: { kind: "text", text: "made" } }] });
  if (isUntrusted) writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { build } }));
  // A browser for whom every log-in page is one click.
  program(bin, "xdg-open", `exec "${process.execPath}" -e 'fetch(process.argv[1])' "$1"`);
  const nodes = [agentNode(), process.execPath].map((node) => dirname(node));
  const path = [programs ?? bin, bin, ...nodes, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
  const env = { ...cleanEnv(join(home, "tenon")), HOME: home, PATH: path, TENON_KEYRING: "off" };
  const serving: ChildProcess[] = [];
  const run: DocsPlace["run"] = async (line, input) =>
    await runCommand("bash", ["-c", line], { cwd: project, env, ...(input === undefined ? {} : { input }) });
  return {
    project,
    home,
    ...(lab ? { linearUrl: lab.url } : {}),
    run,
    serve: async (line) => {
      const child = spawn("bash", ["-c", `exec ${line}`], { cwd: project, env, stdio: ["ignore", "pipe", "ignore"] });
      serving.push(child);
      const said = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
      return String(said[0]);
    },
    [Symbol.asyncDispose]: async () => {
      const gateway = join(home, "tenon/state/gateway");
      if (existsSync(gateway)) await run("tenon gateway stop --drain 0");
      for (const child of serving.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      await lab?.[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

function program(bin: string, name: string, line: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`);
  chmodSync(join(bin, name), 0o755);
}

/** So that `npx` finds the servers here instead of downloading them, and programs find `tenon` by its name. */
function linkPackages(project: string): void {
  const peers = dirname(dirname(dirname(dirname(peerFile("@modelcontextprotocol/server-filesystem", "package.json")))));
  const modules = join(project, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(peers, "node_modules"))) {
    if (name !== "tenon") symlinkSync(join(peers, "node_modules", name), join(modules, name));
  }
  symlinkSync(ROOT, join(modules, "tenon"));
}

async function configure(home: string): Promise<AsyncDisposable & { readonly url: string }> {
  const auth: AuthServer = await authServer({});
  const linear: ProtectedServer = await protectedServer({ authServers: [auth], scopes: ["mcp"] });
  const issue = {
    name: "create_issue",
    description: "Opens an issue.",
    reply: { kind: "text", text: "opened" },
  } as const;
  const config = {
    mcpServers: {
      files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] },
      github: scriptedServer({ tools: [issue] }),
      linear: { url: linear.url },
    },
  };
  mkdirSync(join(home, "tenon"), { recursive: true });
  writeFileSync(join(home, "tenon/config.json"), JSON.stringify(config));
  const cursor = { mcpServers: { github: { command: "github-mcp" }, notes: { command: "notes-mcp" } } };
  mkdirSync(join(home, ".cursor"));
  writeFileSync(join(home, ".cursor/mcp.json"), JSON.stringify(cursor));
  return {
    url: linear.url,
    [Symbol.asyncDispose]: async () => {
      await linear[Symbol.asyncDispose]();
      await auth[Symbol.asyncDispose]();
    },
  };
}
