// `tenon mcp test` against servers that work and servers that are broken in every common way: golden files.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import { BAD_TOOLS, echoTool, scriptedServer } from "../../src/testing/index.js";
import { ConfigBench, pathOfServers } from "./config-bench.js";
import { expectGolden, normalised } from "./golden.js";
import { PACKAGE, PackageRegistry } from "./package-registry.js";
import { EVERYTHING, program } from "./real-server.js";
import { scenario } from "./scenario.js";

const PLAYWRIGHT = join(import.meta.dirname, "../../.cache/peers/node_modules/@playwright/mcp/cli.js");

interface Case {
  readonly name: string;
  readonly entry: object;
  readonly code: number;
  readonly words?: readonly string[];
}

/** PATH is left out of messages that name it: it is another one on every machine. */
async function golden(bench: ConfigBench, { name, entry, code, words = [] }: Case): Promise<void> {
  bench.put("home/config.json", bench.servers({ [name]: entry }));
  const path = process.env["PATH"] ?? "";
  const result = await bench.tenon(["mcp", "test", name, ...words]);
  const shown = normalised(result.stdout.replaceAll(/\s*\n\s*(?=\(\/)/gu, " "), [
    { of: path, by: "<PATH>" },
    { of: pathOfServers(path), by: "<PATH>" },
    { of: bench.root, by: "<root>" },
  ]).replace(/<repository>\/src\/testing\/.*$/mu, "<script>");
  expect(result.code, `${name}: ${result.stderr}`).toBe(code);
  expectGolden(`mcp-test/${name}.txt`, shown);
}

scenario(["Q1"], "a real server: every step with its time, its tools and what they cost", async () => {
  await using bench = await ConfigBench.open();
  await golden(bench, {
    name: "everything",
    entry: { command: process.execPath, args: [program(EVERYTHING)] },
    code: 0,
  });
});

scenario(
  ["Q1"],
  "the browser's server",
  async () => {
    await using bench = await ConfigBench.open();
    await golden(bench, { name: "playwright", entry: { command: process.execPath, args: [PLAYWRIGHT] }, code: 0 });
  },
  existsSync(PLAYWRIGHT) ? {} : { lacks: "@playwright/mcp among the peers" },
);

scenario(["Q1"], "servers that are broken: the server, the step, the cause and the next command", async () => {
  await using bench = await ConfigBench.open();
  const speak = (code: string) => ({ command: process.execPath, args: ["-e", code] });
  await golden(bench, { name: "cannot-spawn", entry: { command: "no-such-program-anywhere" }, code: 1 });
  await golden(bench, {
    name: "exits",
    entry: speak("console.error('DATABASE_URL is not set');process.exit(3)"),
    code: 1,
  });
  await golden(bench, {
    name: "hangs",
    entry: speak("console.error('waiting for the database');setInterval(()=>{},1e3)"),
    code: 1,
    words: ["--timeout", "2"],
  });
  await golden(bench, {
    name: "wrong-place",
    entry: speak("console.log('Server listening on port 3000');setInterval(()=>{},1e3)"),
    code: 1,
    words: ["--timeout", "2"],
  });
  await golden(bench, { name: "wrong-url", entry: { type: "http", url: "http://127.0.0.1:9/mcp" }, code: 1 });
  const odd = scriptedServer({ tools: [echoTool()], rawTools: [BAD_TOOLS.wrongSchemaType, BAD_TOOLS.missingSchema] });
  await golden(bench, { name: "bad-schema", entry: { command: odd.command, args: odd.args }, code: 0 });
});

scenario(
  ["Q1"],
  "a server that wants a log-in: exit code 4, and how to log in; an address that is another's",
  async () => {
    await using bench = await ConfigBench.open();
    const server = createServer((request, response) => {
      const isMcp = request.url === "/mcp";
      response.writeHead(isMcp ? 401 : 404, isMcp ? { "WWW-Authenticate": "Bearer" } : {}).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      await golden(bench, {
        name: "needs-login",
        entry: { type: "http", url: `http://127.0.0.1:${port}/mcp` },
        code: 4,
      });
      await golden(bench, {
        name: "wrong-path",
        entry: { type: "http", url: `http://127.0.0.1:${port}/elsewhere` },
        code: 1,
      });
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  },
);

scenario(
  ["Q1"],
  "a server in a sandbox: the report says so, and what was downloaded is a step of its own, also where that fails",
  async () => {
    await using bench = await ConfigBench.open();
    await using registry = await PackageRegistry.start();
    const sandboxed = (name: string) => ({
      ...{ command: "npx", args: ["-y", name], sandbox: "workspace" },
      env: { npm_config_registry: registry.url },
    });
    bench.put("home/config.json", bench.servers({ here: sandboxed(PACKAGE), gone: sandboxed("no-such-package") }));
    const first = await bench.tenon(["mcp", "test", "here"]);
    expect(first.code, first.stdout).toBe(0);
    expect(first.stdout).toMatch(
      /✓ download {7}the package is here {2}.*\n✓ start {10}the process runs in a sandbox \(workspace\)/u,
    );
    const again = await bench.tenon(["mcp", "test", "here"]);
    expect(again.stdout).toMatch(/✓ start {10}the process runs in a sandbox \(workspace\)/u);
    expect(again.stdout).not.toContain("download");
    const gone = await bench.tenon(["mcp", "test", "gone"]);
    expect(gone.code).toBe(1);
    expect(gone.stdout).toMatch(/✗ download {7}failed .*\n[^]*step {4}download\n/u);
    const { steps } = JSON.parse((await bench.tenon(["mcp", "test", "gone", "--json"])).stdout);
    expect(steps.map(({ step, done }: { step: string; done: boolean }) => [step, done])).toEqual([
      ["configuration", true],
      ["download", false],
    ]);
  },
  { needs: ["bwrap"], platform: "linux" },
);

scenario(["Q1"], "what is not even tried says why, and programs get it all as JSON", async () => {
  await using bench = await ConfigBench.open();
  bench.put(
    "home/config.json",
    bench.servers({ off: { ...bench.greeter(), disabled: true }, greeter: bench.greeter() }),
  );
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  for (const [name, next] of [
    ["off", "tenon mcp enable off"],
    ["theirs", "tenon trust approve theirs"],
  ] as const) {
    const { code, stdout } = await bench.tenon(["mcp", "test", name, "--json"]);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      server: name,
      works: false,
      error: { step: "configuration" },
      next: [next],
    });
  }
  expect(bench.deeds).toEqual([]);
  const { code, stdout } = await bench.tenon(["mcp", "test", "greeter", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    works: true,
    steps: [
      { step: "configuration" },
      { step: "start", ms: expect.any(Number) },
      { step: "handshake" },
      { step: "tools" },
    ],
    tools: [{ name: "greet", tokens: expect.any(Number) }],
  });
  const missing = await bench.tenon(["mcp", "test", "greter"]);
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('did you mean "greeter"?') });
});

scenario(["Q1"], "what a server says of the secrets it was given is shown nowhere", async () => {
  await using bench = await ConfigBench.open();
  const code = "console.log(process.argv.join(' '));console.error('refused: ' + process.env.API_TOKEN);process.exit(1)";
  const entry = {
    command: process.execPath,
    args: ["-e", code, "--", "--api-key", "argument-secret"],
    env: { API_TOKEN: "hunter2-and-more" },
  };
  bench.put("home/config.json", bench.servers({ talkative: entry }));
  for (const words of [
    ["mcp", "test", "talkative"],
    ["mcp", "list"],
    ["mcp", "logs", "talkative"],
    ["doctor"],
    ["chat", "-p", "hello", "--json"],
    ["chat", "-p", "hello"],
  ]) {
    const { stdout, stderr } = await bench.tenon(words);
    const said = stdout + stderr;
    expect(said, words.join(" ")).toContain("refused: [redacted]");
    expect(said, words.join(" ")).not.toMatch(/hunter2|argument-secret/u);
  }
});
