// The local gateway over a real socket: one is started, an older one is replaced, and what cannot be used is told.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { ScriptedGateway, type ScriptedGatewayOptions } from "../../test/scripted-gateway.js";
import { WebSocketRefusal } from "../base/ports/web-socket.js";
import { gatewaySocketPath } from "../gateway/index.js";
import { closeListener, listenOnLoopback } from "../testing/index.js";
import { nodeWorld, openWebSocket, stderrLog } from "../world/index.js";
import { gatewayEnvironment, sessionEnvironment } from "./environment.js";
import { isOlder, localGateway } from "./local-gateway.js";
import { checkGatewayUrls, remoteLink } from "./target.js";
import { Translator } from "./translator.js";

const PID = 999_999;

function stage() {
  const stateDir = mkdtempSync(join(tmpdir(), "tenon-local-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const real = nodeWorld({ env: {}, log: stderrLog("error") });
  let isOldAlive = true;
  const identityOf = (id: number) => (id === PID ? (isOldAlive ? "old" : undefined) : real.processes.identityOf(id));
  const world = { ...real, processes: { ...real.processes, identityOf } };
  const socketPath = gatewaySocketPath(world, stateDir);
  let listening: AsyncDisposable | undefined;
  onTestFinished(async () => await listening?.[Symbol.asyncDispose]());
  let starts = 0;
  const listen = async (options: Omit<ScriptedGatewayOptions, "world"> = {}) => {
    mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
    const gateway = new ScriptedGateway({ world, ...options });
    listening = await gateway.listen(socketPath);
    return gateway;
  };
  const start = async (signal: AbortSignal) => {
    starts += 1;
    await listen({ version: "9.0.0" });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    return "";
  };
  const translator = (given: { start?: typeof start; version?: string } = {}) => {
    const local = localGateway({ world, stateDir, openWebSocket, version: "1.2.0", start, ...given });
    const made = new Translator({
      ...{ world, ...local, gatewayName: "local", isLocal: true, initialize: { protocolVersion: 1 } },
      send: () => undefined,
      notice: () => [],
    });
    onTestFinished(async () => await made.close());
    return made;
  };
  const stopOld = async () => {
    await listening?.[Symbol.asyncDispose]();
    rmSync(socketPath, { force: true });
    isOldAlive = false;
  };
  return { translator, listen, socketPath, stopOld, starts: () => starts };
}

test("those who find no gateway start one, and all of them use it", async () => {
  const { translator, starts } = stage();
  await Promise.all(Array.from({ length: 5 }, () => translator().connect()));
  expect(starts()).toBe(1);
});

test("one that cannot be started says why", async () => {
  const { translator } = stage();
  const failing = translator({ start: async () => "it ended with code 3: the port is taken" });
  await expect(failing.connect()).rejects.toThrow("it ended with code 3: the port is taken");
  const throwing = translator({ start: () => Promise.reject(new Error("no such program")) });
  await expect(throwing.connect()).rejects.toThrow("no such program");
});

test("a socket that a dead gateway left is no obstacle; a folder that others may write to is", async () => {
  const { translator, socketPath, starts } = stage();
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  writeFileSync(socketPath, "");
  chmodSync(dirname(socketPath), 0o777);
  await expect(translator().connect()).rejects.toThrow("is open to other users");
  chmodSync(dirname(socketPath), 0o700);
  rmSync(socketPath);
  await translator().connect();
  expect(starts()).toBe(1);
});

const idle = { sessions: { running: 0, waiting: 0, idle: 2, resting: 5 }, clients: 0, pid: PID };
const busy = { ...idle, sessions: { running: 1, waiting: 0 } };

test("an older gateway that is idle makes room", async () => {
  const { translator, listen, stopOld, starts } = stage();
  const stop = () => {
    setImmediate(() => {
      stopOld().catch(() => {});
    });
    return {};
  };
  const answers = { "_tenon/gateway/status": () => idle, "_tenon/gateway/stop": stop };
  await listen({ version: "1.1.9", protocol: 0, answers });
  await translator().connect();
  expect(starts()).toBe(1);
});

test("an older one that is busy is used if it can be, and else it is told", async () => {
  const { translator, listen, starts, stopOld } = stage();
  const answers = { "_tenon/gateway/status": () => busy };
  const gateway = await listen({ version: "1.1.9", answers });
  await translator().connect();
  expect(gateway.received.map(({ method }) => method)).toEqual(["initialize", "_tenon/gateway/status"]);
  await stopOld();
  await listen({ version: "1.1.9", protocol: 0, answers });
  await expect(translator().connect()).rejects.toThrow("version 1.1.9, which this one (1.2.0) does not understand");
  await stopOld();
  await listen({ version: "2.0.0", protocol: 2 });
  await expect(translator().connect()).rejects.toThrow("version 2.0.0, which this one");
  expect(starts()).toBe(0);
});

test.each([
  ["1.2.3", "1.2.3", false],
  ["1.2.3", "1.10.0", true],
  ["0.9.9", "1.0.0", true],
  ["2.0.0", "1.9.9", false],
  ["odd", "0.0.0", false],
])("%s is older than %s: %s", (version, than, expected) => {
  expect(isOlder(version, than)).toBe(expected);
});

test.each([
  ["http://localhost:1", "ws:// or wss://"],
  ["nonsense", "ws:// or wss://"],
  ["ws://token@localhost:1", "must not have a user"],
  ["wss://host/acp?token=tng_secret", "a query"],
  ["wss://host/acp#tng_secret", "a fragment"],
  ["ws://example.org/acp", "unencrypted"],
])("the address %s is refused, and no secret in it is repeated", (url, words) => {
  let message = "";
  try {
    checkGatewayUrls(url, { isInsecure: false });
  } catch (error) {
    message = String(error);
  }
  expect(message).toContain(words);
  expect(message).not.toContain("secret");
});

test("addresses that are taken get the path of ACP, and each counts once", () => {
  const checked = (text: string, isInsecure = false) => checkGatewayUrls(text, { isInsecure });
  expect(checked("ws://127.0.0.1:4000")).toEqual(["ws://127.0.0.1:4000/acp"]);
  expect(checked("ws://example.org/acp", true)).toEqual(["ws://example.org/acp"]);
  expect(checked("wss://a.example, wss://b.example/other/acp,wss://a.example/acp")).toEqual([
    "wss://a.example/acp",
    "wss://b.example/other/acp",
  ]);
  expect(() => checked("wss://a.example,")).toThrow("ws:// or wss://");
  const many = Array.from({ length: 17 }, (_, index) => `wss://n${index}.example`);
  expect(() => checked(many.join(","))).toThrow("at most 16 addresses");
});

test("the token comes from the file or the variable, and a refusal has its status", async () => {
  const given: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    given.push(request.headers.authorization);
    response.writeHead(401).end("no");
  });
  const url = await listenOnLoopback(server);
  onTestFinished(async () => await closeListener(server));
  const folder = mkdtempSync(join(tmpdir(), "tenon-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tokenFile = join(folder, "token");
  const world = nodeWorld({ env: { TENON_GATEWAY_TOKEN: "tng_variable" } });
  const address = url.replace("http:", "ws:");
  const listener = { onText: () => {}, onClosed: () => {} };
  const attempt = async ({ url: one, ...more }: { url: string; tokenFile?: string }) =>
    await remoteLink({ urls: [one], ...more }, { world, openWebSocket })(listener, new AbortController().signal);
  await expect(attempt({ url: address })).rejects.toEqual(new WebSocketRefusal(401, "no"));
  await expect(attempt({ url: address, tokenFile })).rejects.toThrow("is not there");
  writeFileSync(tokenFile, "tng_file\n", { mode: 0o644 });
  await expect(attempt({ url: address, tokenFile })).rejects.toThrow("can be read by other users");
  chmodSync(tokenFile, 0o600);
  await expect(attempt({ url: address, tokenFile })).rejects.toThrow("HTTP 401");
  writeFileSync(tokenFile, "two words");
  await expect(attempt({ url: address, tokenFile })).rejects.toThrow("holds no token");
  expect(given).toEqual(["Bearer tng_variable", "Bearer tng_file"]);
});

test("of several addresses the next one is tried when one does not answer or drains, and a refusal is told", async () => {
  const refusing = async (status: number) => {
    const server = createServer((_, response) => response.writeHead(status).end("no"));
    onTestFinished(async () => await closeListener(server));
    return (await listenOnLoopback(server)).replace("http:", "ws:");
  };
  const seen: string[] = [];
  const open: Parameters<typeof remoteLink>[1]["openWebSocket"] = async (target, listener, signal) => {
    seen.push(target.url);
    return await openWebSocket(target, listener, signal);
  };
  const taking = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => taking.close());
  const [away, draining, refuses] = ["ws://127.0.0.1:9", await refusing(503), await refusing(401)];
  const good = `ws://127.0.0.1:${Object(taking.address()).port}`;
  const world = nodeWorld({ env: {} });
  const listener = { onText: () => {}, onClosed: () => {} };
  const { signal } = new AbortController();
  const some = remoteLink({ urls: [away, draining, good] }, { world, openWebSocket: open });
  await (await some(listener, signal)).close();
  await (await some(listener, signal)).close();
  expect(seen).toEqual([away, draining, good, away, draining, good]);
  const none = remoteLink({ urls: [away, refuses, draining] }, { world, openWebSocket: open });
  await expect(none(listener, signal)).rejects.toMatchObject({ status: 401 });
});

test("sessions get the variables they need, those the configuration names, and no others", async () => {
  const home = mkdtempSync(join(tmpdir(), "tenon-env-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const project = join(home, "project");
  mkdirSync(join(project, ".tenon"), { recursive: true });
  writeFileSync(
    join(home, "config.json"),
    '{ "mcpServers": { "a": { "env": { "X": "${USER_NAMED}" } } }, "commands": ["LISTED"] }',
  );
  writeFileSync(
    join(project, ".mcp.json"),
    '{ "mcpServers": { "b": { "headers": { "X": "Bearer {env:SHARED_NAMED}" } } } }',
  );
  writeFileSync(join(project, ".tenon/config.json"), '{ "x": "${env:OWN_NAMED} ${DEFAULTED:-none}" ');
  const names = ["PATH", "LC_TIME", "HTTPS_PROXY", "no_proxy", "OPENAI_API_KEY", "TENON_MODEL", "NODE_EXTRA_CA_CERTS"];
  const named = ["USER_NAMED", "LISTED", "SHARED_NAMED", "OWN_NAMED", "DEFAULTED"];
  const others = ["AWS_SECRET_ACCESS_KEY", "NODE_OPTIONS", "SHLVL", "TENON_GATEWAY_TOKEN", "XDG_SESSION_ID"];
  const env = Object.fromEntries([...names, ...named, ...others].map((name) => [name, name.toLowerCase()]));
  const world = nodeWorld({ env: { ...env, TENON_HOME: home, BASH_FUNC: "() { :; }" } });
  expect(Object.keys(await sessionEnvironment(world, [project])).sort()).toEqual(
    [...names, ...named, "TENON_HOME"].sort(),
  );
  const ofMachine = ["PATH", "LC_TIME", "NODE_EXTRA_CA_CERTS", "TENON_HOME"];
  expect(Object.keys(gatewayEnvironment(world.env)).sort()).toEqual(ofMachine.sort());
  const elsewhere = await sessionEnvironment(world, [join(home, "none")]);
  expect(Object.keys(elsewhere).sort()).toEqual([...names, "USER_NAMED", "LISTED", "TENON_HOME"].sort());
});
