// `tenon inspect` and `tenon gateway pair` as they are installed: links that let one browser in, and the local gateway behind them.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, startNode, startTenon, TemporaryFolder } from "./agent.js";
import { type HttpAnswer, send, WireClient } from "./gateway/wire-client.js";
import { agentNode, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** A home with its local gateway, which is ended at the end, and a desktop whose browser only writes down what it was given. */
class Home extends TemporaryFolder implements AsyncDisposable {
  readonly opened = join(this.path, "opened.txt");

  async tenon(words: readonly string[], cwd = this.path): Promise<CommandResult> {
    const env = cleanEnv(this.path, { DISPLAY: ":9", PATH: `${join(this.path, "bin")}:${process.env["PATH"] ?? ""}` });
    return await runCommand(agentNode(), [TENON, ...words], { env, cwd });
  }

  addBrowser(): void {
    const path = join(this.path, "bin", "xdg-open");
    mkdirSync(join(this.path, "bin"), { recursive: true });
    writeFileSync(path, `#!/bin/sh\nprintf '%s' "$*" > ${this.opened}.part && mv ${this.opened}.part ${this.opened}\n`);
    chmodSync(path, 0o755);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tenon(["gateway", "stop", "--drain", "0"]);
    this[Symbol.dispose]();
  }
}

interface Link {
  readonly port: number;
  readonly code: string;
  readonly session?: string;
}

function linkIn(text: string): Link {
  const found = /http:\/\/127\.0\.0\.1:(\d+)\/#pair=([\w-]{22})(?:&session=([\w-]+))?/u.exec(text);
  const [, port = "", code = "", session] = found ?? [];
  expect(code, text).not.toBe("");
  return { port: Number(port), code, ...(session === undefined ? {} : { session }) };
}

async function paired({ port, code }: Link): Promise<HttpAnswer> {
  const headers = { origin: `http://127.0.0.1:${port}`, "content-type": "application/json" };
  const body = JSON.stringify({ code });
  return await send({ host: "127.0.0.1", port }, { method: "POST", path: "/pair", headers, body });
}

async function enter(link: Link): Promise<WireClient> {
  const answer = await paired(link);
  expect(answer.status, answer.body).toBe(200);
  const cookie = String(answer.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
  const origin = `http://127.0.0.1:${link.port}`;
  const client = await WireClient.open(`ws://127.0.0.1:${link.port}/acp`, { cookie, origin });
  await client.initialize();
  return client;
}

scenario(
  ["G666", "G667"],
  "tenon inspect opens any session: of an editor that is gone, of one that has it open, and of a directory that is gone",
  async () => {
    await using home = new Home();
    const work = join(home.path, "work");
    mkdirSync(work);
    const editor = await startTenon(home, { permissions: "allow" });
    await editor.initialize();
    const { sessionId: session } = await editor.newSession({ cwd: work });
    await editor.prompt(session, "remember the milk");
    // A plain `tenon acp` has it open: it is read from its journal.
    const held = linkIn((await home.tenon(["inspect", "remember"])).stdout);
    expect(held.session).toBe(session);
    const page = await enter(held);
    const view = await page.request("_tenon/session/view", { sessionId: session });
    expect(view.result).toMatchObject({ state: "resting", title: "remember the milk" });
    expect(view.result?.["owner"]).toMatch(/^process \d+$/u);
    const records = await page.request("_tenon/session/records", { sessionId: session, kinds: ["prompt"] });
    expect(JSON.stringify(records.result)).toContain("remember the milk");
    await editor.end();
    rmSync(work, { recursive: true });
    home.addBrowser();
    const last = await home.tenon(["inspect", "--last"]);
    expect([last.code, linkIn(last.stdout).session]).toEqual([0, session]);
    // The browser is given a file that only this user may read: other users see the arguments of programs.
    await expect.poll(() => readIfThere(home.opened)).toMatch(/^file:.*open-page\.html$/u);
    const file = new URL(readFileSync(home.opened, "utf8"));
    expect(readFileSync(file, "utf8").replaceAll("&amp;", "&")).toContain(linkIn(last.stdout).code);
    expect(readFileSync(home.opened, "utf8")).not.toContain(linkIn(last.stdout).code);
    const stored = await page.request("_tenon/session/view", { sessionId: session });
    expect(stored.result).toMatchObject({ state: "resting", cwd: work });
    expect(stored.result?.["owner"]).toBeUndefined();
    await page.close();
    const none = await home.tenon(["inspect", "no such session"]);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("no such session")]);
    expect((await home.tenon(["inspect", "x", "--last"])).code).toBe(2);
    rmSync(join(home.path, "bin"), { recursive: true }); // no browser at all
    const all = await home.tenon(["inspect", "--json"]);
    expect(JSON.parse(all.stdout)).toMatchObject({ isNear: true, url: expect.not.stringContaining("session=") });
  },
  { platform: "linux", timeoutMs: 60_000 },
);

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

scenario(
  ["G660", "G662", "G665", "G725"],
  "tenon gateway pair prints a link and its QR code; the device is listed and revoked",
  async () => {
    await using home = new Home();
    const without = await home.tenon(["gateway", "pair"]);
    expect([without.code, without.stderr]).toEqual([3, expect.stringContaining("--listen")]);
    await startNode(home.path);
    await home.tenon(["inspect", "--no-open"]); // starts the local gateway where there is none
    const pair = await home.tenon(["gateway", "pair", "--scopes", "read,approve", "--name", "my phone"]);
    expect(pair.stdout).toContain("Only browsers of this machine");
    const code = pair.stdout.split("\n").filter((line) => /^[█▀▄ ]+$/u.test(line) && line.includes("█"));
    expect(code.length).toBeGreaterThan(15);
    expect(new Set(code.map((line) => line.length)).size).toBe(1);
    const link = linkIn(pair.stdout);
    const answer = await paired(link);
    expect(JSON.parse(answer.body)).toEqual({ account: "me", scopes: ["read", "approve"], name: "my phone" });
    expect((await paired(link)).status).toBe(401);
    const index = await send({ host: "127.0.0.1", port: link.port }, { path: "/" });
    expect(String(index.headers["content-security-policy"])).toContain("default-src 'none'");
    const files = [...index.body.matchAll(/"(\/assets\/[^"]+)"/gu)].map(([, path = ""]) => path);
    expect(files.length).toBeGreaterThan(1);
    for (const path of files) {
      const { status, headers } = await send({ host: "127.0.0.1", port: link.port }, { path });
      expect([status, headers["cache-control"]], path).toEqual([200, expect.stringContaining("immutable")]);
    }
    const list = await home.tenon(["gateway", "token", "list"]);
    expect(list.stdout).toMatch(/my phone .*read,approve.*device/u);
    // Devices name themselves: none is meant by its name.
    const byName = await home.tenon(["gateway", "token", "revoke", "my phone"]);
    expect([byName.code, byName.stderr]).toEqual([3, expect.stringContaining("A device is named by its id")]);
    const [id = ""] = /\S+(?=\s+my phone )/u.exec(list.stdout) ?? [];
    expect((await home.tenon(["gateway", "token", "revoke", id])).code).toBe(0);
    const headers = { cookie: String(answer.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "" };
    const me = async () => (await send({ host: "127.0.0.1", port: link.port }, { path: "/me", headers })).status;
    await expect.poll(me).toBe(401);
    expect((await home.tenon(["gateway", "pair", "--scopes", "all"])).code).toBe(2);
    expect((await home.tenon(["gateway", "pair", "--name", "\u202e"])).code).not.toBe(0);
    const audit = readFileSync(join(home.path, "state", "gateway", "audit.ndjson"), "utf8");
    for (const event of ["code.created", "logged_in", "used_code", "token.revoked"]) expect(audit).toContain(event);
    expect(audit).not.toContain(link.code);
  },
  { platform: "linux", timeoutMs: 60_000 },
);
