// Tokens, scopes, directories, client keys and the audit file, on a fake machine.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { World } from "../../base/ports/world.js";
import { fakeWorld } from "../../testing/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { fileGatewayStore } from "../nodes/file-store.js";
import { AuditLog } from "./audit.js";
import { codesInMemory, PairingCodes } from "./pairing.js";
import { allowedDirectory, ClientKeys, denial, LOCAL_PRINCIPAL, type Principal, scopesOf } from "./principal.js";
import { LiveTokens, tokensInFile } from "./tokens.js";

const FILE = "/state/gateway/tokens.json";
const DAY_MS = 86_400_000;

describe("tokens", () => {
  test("are good until they expire, and stand for their account and scopes", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    const { token } = await file.create({ name: "phone", account: "ann", scopes: ["approve", "read", "approve"] });
    await using live = new LiveTokens(world, file);
    await live.ready();
    expect(live.verify(token)).toMatchObject({ account: "ann", name: "phone", isLocal: false });
    expect([...principal(live.verify(token)).scopes]).toEqual(["read", "approve"]);
    expect(live.verify(`${token}x`)).toBe("unknown");
    expect(live.verify(token.slice(4))).toBe("unknown");
    expect(live.verify("")).toBe("unknown");
    await world.advance(90 * DAY_MS + 1);
    expect(live.verify(token)).toBe("expired");
  });

  test("that another process revokes, removes or damages are gone at once", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    const made = [];
    for (const name of ["a", "b", "c"]) made.push(await file.create({ name }));
    await using live = new LiveTokens(world, file);
    await live.ready();
    const gone: string[] = [];
    live.onGone((id) => gone.push(id));
    await tokensInFile(world, "/state").revoke("a");
    await world.settle();
    expect(live.verify(made[0]?.token ?? "")).toBe("revoked");
    await file.storage.change((tokens) => tokens.filter(({ name }) => name !== "b"));
    await world.settle();
    expect(live.verify(made[1]?.token ?? "")).toBe("unknown");
    await world.files.writeAtomic(FILE, "{ torn");
    await world.settle();
    expect(live.verify(made[2]?.token ?? "")).toBe("unknown");
    expect(gone).toEqual(made.map(({ listed }) => listed.id));
    expect(world.logEntries.map(({ event }) => event)).toContain("gateway.tokens_unreadable");
    await expect(file.create({ name: "d" })).rejects.toMatchObject({ code: "config.invalid" });
    expect(await world.files.readText(FILE)).toBe("{ torn");
  });

  test.each([
    ["{}", "has no list"],
    ['{"tokens":[{"id":"x"}]}', "malformed token (number 1)"],
    [`{"tokens":[${JSON.stringify({ ...entry(), expiresAt: "soon" })}]}`, "malformed token"],
    [`{"tokens":[${JSON.stringify({ ...entry(), hash: "short" })}]}`, "malformed token"],
    [`{"tokens":[${JSON.stringify({ ...entry(), account: "../other" })}]}`, "malformed token"],
  ])("a file such as %s lets nobody in", async (text, reason) => {
    const world = fakeWorld({ files: { [FILE]: text } });
    await expect(tokensInFile(world, "/state").list()).rejects.toThrow(reason);
  });

  test("are named once, and a name is free again after it was revoked; what is long over is dropped", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    await file.create({ name: "phone" });
    await expect(file.create({ name: "phone" })).rejects.toMatchObject({ code: "usage.invalid" });
    expect(await file.revoke("phone")).toMatchObject({ name: "phone" });
    expect(await file.revoke("phone")).toBeUndefined();
    await file.create({ name: "phone", expiresInMs: Number.POSITIVE_INFINITY });
    expect(await file.list()).toHaveLength(2);
    await world.advance(91 * DAY_MS);
    await file.create({ name: "other" });
    expect((await file.list()).map(({ name }) => name)).toEqual(["phone", "other"]);
  });

  test("are revoked by id, else by a name that one of them has, which is never that of a device", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    const device = await file.createDevice({ name: "ci", account: "me", scopes: ["read"] });
    const { listed } = await file.create({ name: "ci", scopes: ["admin"] });
    // Named as another's id: the id counts.
    await file.create({ name: device.listed.id });
    expect(await file.revoke("ci")).toMatchObject({ id: listed.id });
    expect(await file.revoke("ci")).toBeUndefined();
    expect(await file.revoke(device.listed.id)).toMatchObject({ id: device.listed.id, isDevice: true });
    const short = [];
    for (let count = 0; count < 2; count++) {
      short.push((await file.create({ name: "short", expiresInMs: 1_000 })).listed.id);
      await world.advance(2_000);
    }
    await expect(file.revoke("short")).rejects.toMatchObject({
      code: "usage.invalid",
      message: `several tokens are called "short": ${short.join(", ")}`,
    });
    const { listed: good } = await file.create({ name: "short" });
    expect(await file.revoke("short")).toMatchObject({ id: good.id });
  });

  test("made by two processes at once are all kept", async () => {
    const world = fakeWorld();
    const names = Array.from({ length: 8 }, (_, index) => `t${index}`);
    const making = Promise.all(names.map((name) => tokensInFile(world, "/state").create({ name })));
    await world.advance(1_000);
    await making;
    expect((await tokensInFile(world, "/state").list()).map(({ name }) => name).sort()).toEqual(names);
  });

  test("have their last use written down, at most once a minute", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    const { token } = await file.create({ name: "phone" });
    await using live = new LiveTokens(world, file);
    await live.ready();
    live.verify(token);
    expect((await file.list())[0]?.lastUsedAt).toBeUndefined();
    await world.advance(GATEWAY_LIMITS.tokens.usedEveryMs);
    await world.settle();
    expect((await file.list())[0]?.lastUsedAt).toBeDefined();
  });
});

function entry(): object {
  return { id: "1", name: "n", account: "me", scopes: ["read"], createdAt: 1, hash: "0".repeat(64) };
}

function principal(verdict: ReturnType<LiveTokens["verify"]>): Principal {
  if (typeof verdict === "string") throw new Error(verdict);
  return verdict;
}

describe("scopes", () => {
  test("every method needs one, and one that nobody listed needs admin", () => {
    expect(scopesOf("session/list", {})).toEqual(["read"]);
    expect(scopesOf("session/prompt", {})).toEqual(["prompt"]);
    expect(scopesOf("_tenon/question/answer", {})).toEqual(["approve"]);
    expect(scopesOf("session/new", { mcpServers: [] })).toEqual(["prompt"]);
    expect(scopesOf("session/new", { mcpServers: [{}] })).toEqual(["prompt", "tools"]);
    expect(scopesOf("session/load", { mcpServers: { sneaky: true } })).toEqual(["read", "tools"]);
    expect(scopesOf("_tenon/gateway/tokens", {})).toEqual(["admin"]);
    expect(scopesOf("session/newer", {})).toEqual(["admin"]);
    expect(scopesOf("__proto__", undefined)).toEqual(["admin"]);
  });

  test("a denial names the scope that is missing; an environment is taken over the socket only", () => {
    const reader: Principal = { account: "me", scopes: new Set(["read"]), name: "r", tokenId: "1", isLocal: false };
    expect(denial(reader, "session/prompt", {})?.message).toContain('"prompt"');
    expect(denial(reader, "session/load", { mcpServers: [{}] })?.message).toContain('"tools"');
    expect(denial(reader, "session/list", {})).toBeUndefined();
    const withEnv = { _meta: { tenon: { env: { A: "b" } } } };
    expect(denial(reader, "initialize", withEnv)?.code).toBe("access.denied");
    expect(denial(LOCAL_PRINCIPAL, "initialize", withEnv)).toBeUndefined();
  });
});

describe("devices", () => {
  test("have a cookie that is no token, and end with the token they were let in by", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    const { token, listed: parent } = await file.create({ name: "t", scopes: ["prompt"], expiresInMs: DAY_MS });
    const given = { name: "browser", account: "me", scopes: ["read", "prompt"] } as const;
    const login = await file.createDevice({ ...given, parent: parent.id });
    const paired = await file.createDevice(given);
    await using live = new LiveTokens(world, file);
    await live.ready();
    const gone: string[] = [];
    live.onGone((id) => gone.push(id));
    expect(live.verifyCookie(login.cookie)).toMatchObject({ tokenId: login.listed.id, expiresAt: parent.expiresAt });
    expect(live.verify(login.cookie)).toBe("unknown");
    expect(live.verifyCookie(token)).toBe("unknown");
    expect(await world.files.readText(FILE)).not.toContain(login.cookie.slice(4));
    expect(await file.list()).toMatchObject([{ name: "t" }, { isDevice: true, parent: parent.id }, { isDevice: true }]);
    await world.advance(DAY_MS + 1);
    expect(live.verifyCookie(login.cookie)).toBe("expired");
    expect(live.verifyCookie(paired.cookie)).toMatchObject({ tokenId: paired.listed.id });
    await file.revoke(parent.id);
    await file.revoke(paired.listed.id);
    await world.settle();
    expect(gone.toSorted()).toEqual([parent.id, login.listed.id, paired.listed.id].toSorted());
    expect(live.verifyCookie(login.cookie)).toBe("revoked");
    expect(live.verifyCookie(paired.cookie)).toBe("revoked");
  });

  test("of one token are eight: the oldest log-in gives way", async () => {
    const world = fakeWorld();
    const file = tokensInFile(world, "/state");
    const { listed } = await file.create({ name: "t" });
    const given = { name: "browser", account: "me", scopes: ["read"], parent: listed.id } as const;
    const cookies = [];
    for (let count = 0; count < 9; count++) cookies.push((await file.createDevice(given)).cookie);
    await using live = new LiveTokens(world, file);
    await live.ready();
    const verdicts = cookies.map((cookie) => typeof live.verifyCookie(cookie));
    expect(verdicts).toEqual(["string", ...Array.from({ length: 8 }, () => "object")]);
  });
});

describe("pairing codes", () => {
  const grant = { account: "me", scopes: ["read"] } as const;
  const codesIn = (world: World) => new PairingCodes(world, codesInMemory(world));

  test("are good once, for five minutes", async () => {
    const world = fakeWorld();
    const codes = codesIn(world);
    const [used, late] = [await codes.create(grant), await codes.create(grant)];
    expect(used).toMatch(/^[\w-]{22}$/u);
    expect(await codes.take(used)).toBe(grant);
    expect(await codes.take(used)).toBe("used");
    await world.advance(GATEWAY_LIMITS.page.codes.goodMs);
    expect(await codes.take(late)).toBe("expired");
  });

  test("are void after five wrong ones, and new ones are good again", async () => {
    const codes = codesIn(fakeWorld());
    const code = await codes.create(grant);
    for (let count = 0; count < 5; count++) expect(await codes.take(`guess-${count}`)).toBe("unknown");
    expect(await codes.take(code)).toBe("void");
    expect(await codes.take(await codes.create(grant))).toBe(grant);
  });

  test("let nobody in twice, late, or after five wrong ones, whatever happens in between", async () => {
    const step = fc.oneof(
      fc.constant({ do: "create" } as const),
      fc.record({ do: fc.constant("take" as const), which: fc.nat(5) }),
      fc.constant({ do: "guess" } as const),
      fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 60_000, 299_999, 300_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const world = fakeWorld();
        const codes = codesIn(world);
        const made: { readonly code: string; readonly atMs: number; isOpen: boolean }[] = [];
        let wrong = 0;
        const good = () => made.filter(({ isOpen, atMs }) => isOpen && world.monotonicMs() - atMs < 300_000);
        const fail = () => {
          wrong += 1;
          if (wrong >= 5) for (const one of good()) one.isOpen = false;
        };
        for (const one of steps) {
          if (one.do === "wait") await world.advance(one.ms);
          if (one.do === "create") {
            if (good().length === 0) wrong = 0;
            made.push({ code: await codes.create(grant), atMs: world.monotonicMs(), isOpen: true });
          }
          if (one.do === "guess") {
            fail();
            expect(await codes.take("guess")).toBe("unknown");
          }
          const known = one.do === "take" ? made[one.which] : undefined;
          if (!known) continue;
          const isGood = good().includes(known);
          expect((await codes.take(known.code)) === grant).toBe(isGood);
          if (isGood) known.isOpen = false;
          else fail();
        }
      }),
      { numRuns: 200 },
    );
  });

  test("are bounded: the oldest gives way", async () => {
    const codes = codesIn(fakeWorld());
    const made: string[] = [];
    for (let count = 0; count <= GATEWAY_LIMITS.page.codes.max; count++) made.push(await codes.create(grant));
    expect(await codes.take(made[0] ?? "")).toBe("unknown");
    expect(await codes.take(made[1] ?? "")).toBe(grant);
  });
});

test("a session's directory is below a root after all links, and must be there", async () => {
  const world = fakeWorld({ folders: ["/srv/work/app", "/srv/work2", "/etc"], files: { "/srv/work/file": "" } });
  world.files.link("/srv/work/out", "/etc");
  world.files.link("/srv/inside", "/srv/work/app");
  const real = (path: string) => allowedDirectory(world, path, ["/srv/work"]);
  expect(await real("/srv/work/app")).toBe("/srv/work/app");
  expect(await real("/srv/work")).toBe("/srv/work");
  expect(await real("/srv/inside")).toBe("/srv/work/app");
  await expect(real("/srv/work2")).rejects.toThrow("/srv/work");
  await expect(real("/srv/work/out")).rejects.toThrow("outside");
  await expect(real("/srv/work/../../etc")).rejects.toThrow("outside");
  await expect(real("/srv/work/none")).rejects.toThrow("is not there");
  await expect(real("/srv/work/file")).rejects.toThrow("is no directory");
  expect(await allowedDirectory(world, "/etc", [])).toBe("/etc");
});

async function clientKeys(world: World): Promise<ClientKeys> {
  return new ClientKeys(world, await fileGatewayStore(world, "/state").clientSecret());
}

test("a client's key is of use with its id and account only, also after a restart", async () => {
  const world = fakeWorld();
  const { id, key } = (await clientKeys(world)).issue("ann");
  const again = await clientKeys(world);
  expect(again.isIssued("ann", id, key)).toBe(true);
  expect(again.isIssued("bob", id, key)).toBe(false);
  expect(again.isIssued("ann", `${id}0`, key)).toBe(false);
  expect(again.isIssued("ann", id, `${key}0`)).toBe(false);
  expect(again.isIssued("ann", id, "")).toBe(false);
  await world.files.writeAtomic("/state/gateway/client-secret", "short");
  await expect(clientKeys(world)).rejects.toMatchObject({ code: "config.invalid" });
});

describe("the audit file", () => {
  test("has one line for each event, bounded fields, and four files before it", async () => {
    const world = fakeWorld();
    await using audit = await AuditLog.open(world, "/state");
    audit.write("refused", { reason: "x".repeat(10_000), remote: "\u202e::1" });
    const line = await world.files.readText(audit.path);
    expect(JSON.parse(line)).toMatchObject({ event: "refused", t: "2026-11-01T00:00:00.000Z" });
    expect(line.length).toBeLessThan(500);
    expect(line).toContain("\\u202e");
    const { maxBytes, keptFiles } = GATEWAY_LIMITS.audit;
    const lines = Math.ceil((maxBytes / 10_000) * (keptFiles + 2));
    const long = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, "m".repeat(250)]));
    for (let count = 0; count < lines; count++) {
      audit.write("connected", { ...long, count });
      if (count % 10 === 0) await world.settle();
    }
    await world.settle();
    const names = ["4", "3", "2", "1"].map((number) => `/state/gateway/audit.${number}.ndjson`);
    const texts = await Promise.all([...names, audit.path].map((path) => world.files.readText(path)));
    for (const text of texts) expect(text.length).toBeLessThan(maxBytes + 200_000);
    expect(await world.files.find("/state/gateway/audit.5.ndjson")).toBeUndefined();
    const counts = [...texts.join("").matchAll(/"count":(\d+)/gu)].map(([, count]) => Number(count));
    const first = counts[0] ?? Number.NaN;
    expect(counts).toEqual(Array.from({ length: lines - first }, (_, index) => first + index));
  });

  test("has one line and a count for what clients repeat, and keeps log-ins through a flood of it", async () => {
    const world = fakeWorld();
    const audit = await AuditLog.open(world, "/state");
    audit.write("connected", { account: "me" });
    for (let count = 0; count < 70_000; count++) {
      audit.write("denied", { token: "1", method: "session/prompt" });
      audit.write("limited", { token: `${count}`, method: null });
    }
    audit.write("denied", { token: "2", method: "session/prompt" });
    await world.advance(60_000);
    audit.write("denied", { token: "1", method: "session/prompt" });
    audit.write("denied", { token: "1", method: "session/prompt" });
    await audit[Symbol.asyncDispose]();
    expect(world.clock.pendingTimers).toBe(0);
    const lines = (await world.files.readText(audit.path)).trim().split("\n");
    const found: { event: string; token?: string; count?: number }[] = lines.map((line) => JSON.parse(line));
    const of = (event: string) =>
      found.filter((line) => line.event === event).map(({ token, count }) => [token, count]);
    expect(of("connected")).toHaveLength(1);
    expect(of("denied")).toEqual([
      ["1", undefined],
      ["2", undefined],
      ["1", 69_999],
      ["1", undefined],
      ["1", 1],
    ]);
    const limited = of("limited");
    expect(limited.length).toBeLessThan(GATEWAY_LIMITS.audit.counted + 5);
    expect(limited.reduce((sum, [, count]) => sum + (typeof count === "number" ? count : 1), 0)).toBe(70_000);
  });

  test("that cannot be written locks nobody out, and the log says so", async () => {
    const world = fakeWorld();
    world.files.isFull = true;
    await using audit = await AuditLog.open(world, "/state");
    audit.write("connected", { account: "me" });
    expect(audit.isWritten()).toBe(false);
    world.files.isFull = false;
    expect(audit.isWritten()).toBe(true);
    audit.write("disconnected", { account: "me" });
    expect(world.logEntries.map(({ event }) => event)).toEqual(["gateway.audit_failed", "gateway.audit_failed"]);
    expect(await world.files.readText(audit.path)).toMatch(/"connected".*\n.*"disconnected"/u);
  });
});
