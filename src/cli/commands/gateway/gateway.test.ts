// `tenon gateway token`: shown once, kept as a hash, listed without it, revoked by name. `tenon gateway logs`: the last lines.
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { type FakeWorld, fakeWorld } from "../../../testing/index.js";
import type { CommandContext } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { runWords } from "../../run.js";
import { TABLE } from "../../table.js";
import { createPalette } from "../../terminal/stream.js";
import { storeAddress } from "./store.js";

function contextOf(world: FakeWorld, output = new PassThrough(), errorOutput = new PassThrough()): CommandContext {
  const refuse = () => Promise.reject(new Error("no keyring"));
  return {
    world,
    cwd: "/project",
    output,
    errorOutput,
    columns: 120,
    palette: createPalette(false),
    keyring: { get: refuse, set: refuse, remove: refuse },
  };
}

async function run(world: FakeWorld, ...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const [output, errorOutput] = [new PassThrough(), new PassThrough()];
  const context = contextOf(world, output, errorOutput);
  const code = await runWords(TABLE, ["gateway", ...words], () => context);
  return { code, out: String(output.read() ?? ""), err: String(errorOutput.read() ?? "") };
}

test("a token is created, listed without its text, and revoked; the audit file has it without its text", async () => {
  const world = fakeWorld({ env: { TENON_HOME: "/t" } });
  const made = await run(world, "token", "create", "phone", "--scopes", "approve,read", "--expires", "12h");
  const [token = ""] = made.out.split("\n");
  expect(token).toMatch(/^tng_[A-Za-z0-9_-]{43}$/);
  expect(made.out).toContain("read, approve; expires 2026-11-01");
  const list = await run(world, "token", "list");
  expect(list.out).toMatch(/phone\s+me\s+read,approve\s+expires 2026-11-01\s+never/);
  const revoked = await run(world, "token", "revoke", "phone", "--json");
  expect(JSON.parse(revoked.out)).toMatchObject({ revoked: { name: "phone", account: "me" } });
  expect((await run(world, "token", "list")).out).toContain("revoked");
  const kept = ["tokens.json", "audit.ndjson"].map((name) => world.files.readText(`/t/state/gateway/${name}`));
  const [tokens = "", audit = ""] = await Promise.all(kept);
  expect(`${tokens}${audit}${list.out}`).not.toContain(token.slice(4));
  expect(audit.match(/token\.(created|revoked)/g)).toEqual(["token.created", "token.revoked"]);
});

test("the password of the database goes into its address, and out of the environment that sessions expand names from", () => {
  const address = (store: string) => {
    vi.stubEnv("PGPASSWORD", "a&b c");
    onTestFinished(() => void vi.unstubAllEnvs());
    return storeAddress({ store }, contextOf(fakeWorld({ env: { PGPASSWORD: "a&b c" } })));
  };
  expect(address("postgres://tenon@db/tenon")).toBe("postgres://tenon@db/tenon?password=a%26b%20c");
  expect(process.env["PGPASSWORD"]).toBeUndefined();
  expect(address("postgres:///tenon?host=/run")).toBe("postgres:///tenon?host=/run&password=a%26b%20c");
  expect(address("postgres://tenon:own@db/tenon")).toBe("postgres://tenon:own@db/tenon");
  expect(process.env["PGPASSWORD"]).toBe("a&b c"); // it is of something else
});

test.each([
  [["create"], 2, "say which token"],
  [["create", "x", "--scopes", "write"], 2, "there is read, prompt, approve, tools, admin"],
  [["create", "x", "--expires", "soon"], 2, "90d, 12h or 30m"],
  [["create", "x", "--expires", "0d"], 2, "90d, 12h or 30m"],
  [["create", "x", "--account", "../me"], 2, "an account has"],
  [["create", "a\u001bb"], 2, "the name of a token"],
  [["revoke", "nobody"], 3, "no token"],
  [["burn", "x"], 2, '"create", "list" or "revoke"'],
])("tenon gateway token %j is refused with the reason", async (words, code, text) => {
  const result = await run(fakeWorld({ env: { TENON_HOME: "/t" } }), "token", ...words);
  expect([result.code, result.err]).toEqual([code, expect.stringContaining(text)]);
});

test("logs shows whole lines from the end of the file, without what would steer the terminal", async () => {
  const log = "/t/state/gateway/gateway.log";
  const lines = Array.from({ length: 4_000 }, (_, index) => `${index} ${"x".repeat(90)}`);
  const world = fakeWorld({ env: { TENON_HOME: "/t" }, files: { [log]: `${lines.join("\n")}\nred \u001b[31m\n` } });
  const short = await run(world, "logs", "-n", "2");
  expect(short.out).toBe(`${lines.at(-1)}\nred ␛[31m\n`);
  expect((await run(world, "logs")).out.split("\n")).toHaveLength(CLI_LIMITS.logLines + 1);
  const all: { file: string; lines: string[] } = JSON.parse((await run(world, "logs", "-n", "9999", "--json")).out);
  expect(all.file).toBe(log);
  expect(all.lines.length).toBeLessThan(4_000); // the last 256 KB
  expect(all.lines.slice(0, -1)).toEqual(lines.slice(1 - all.lines.length));
  expect((await run(world, "logs", "-n", "0")).code).toBe(2);
  const none = await run(fakeWorld({ env: { TENON_HOME: "/t" } }), "logs");
  expect([none.code, none.out, none.err]).toEqual([0, "", expect.stringContaining("no editor has started a gateway")]);
});
