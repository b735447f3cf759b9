// `tenon mcp serve` as the suite drives it: the built product with a server of the suite's tools behind it, over HTTP.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { join } from "node:path";
import { ROOT, run } from "../lib/run.js";
import { FOLDER } from "./suite.js";

const HOME = join(FOLDER, "serve-home");
const TENON = join(ROOT, "dist/cli/main.js");

export interface ServedTenon extends AsyncDisposable {
  readonly url: string;
}

/** Listens at a port of its own choice. The suite sends no token: a proxy puts one into every request, and changes nothing else. */
export async function serveTenon(): Promise<ServedTenon> {
  rmSync(HOME, { recursive: true, force: true });
  mkdirSync(HOME, { recursive: true });
  const config = {
    mcpServers: { fixture: { command: process.execPath, args: [join(FOLDER, "fixture-server.mjs")] } },
    permissions: { rules: [{ effect: "allow", server: "fixture" }] },
  };
  writeFileSync(join(HOME, "config.json"), JSON.stringify(config));
  const env = { ...process.env, TENON_HOME: HOME, TENON_LOG: "error" };
  const words = ["gateway", "token", "create", "conformance", "--scopes", "tools", "--json"];
  const made = await run(process.execPath, [TENON, ...words], { cwd: HOME, env });
  const { token } = JSON.parse(made.output.slice(made.output.indexOf("{")));
  const args = [TENON, "mcp", "serve", "--listen", "0", "--own-names"];
  const child = spawn(process.execPath, args, { cwd: HOME, env, stdio: ["ignore", "pipe", "inherit"] });
  const port = await listeningAt(child);
  const proxy = await proxyTo(port, String(token));
  return {
    url: `http://localhost:${proxy.port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      proxy.server.closeAllConnections();
      proxy.server.close();
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await gone;
    },
  };
}

function listeningAt(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.once("exit", () => reject(new Error(`tenon mcp serve ended:\n${said}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      said = `${said}${String(chunk)}`.slice(-10_000);
      const [, port] = /listens at http:\/\/[^:]+:(\d+)\/mcp/.exec(said) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
  });
}

/** Host and Origin stay as they are but for the port, which is the proxy's. */
async function proxyTo(port: number, token: string): Promise<{ readonly server: Server; readonly port: number }> {
  const own = () => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
  const readdressed = (value: string | undefined) => value?.replace(`:${own()}`, `:${port}`);
  const server = createServer((incoming, response) => {
    const { host, origin, ...rest } = incoming.headers;
    const named = { ...(host && { host: readdressed(host) }), ...(origin && { origin: readdressed(origin) }) };
    const headers = { ...rest, ...named, authorization: `Bearer ${token}` };
    const { method, url: path } = incoming;
    const onward = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, port: own() };
}
