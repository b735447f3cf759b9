// What gateways that share a PostgreSQL keep there besides sessions: tokens, pairing codes, approvals, kept results.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { World } from "../../src/base/ports/world.js";
import { ClientKeys } from "../../src/gateway/access/principal.js";
import { LiveTokens } from "../../src/gateway/access/tokens.js";
import { GATEWAY_LIMITS, PairingCodes, Tokens } from "../../src/gateway/index.js";
import { Database } from "../../src/postgres/database.js";
import { PostgresDecisions } from "../../src/postgres/decisions.js";
import { PostgresResults } from "../../src/postgres/kept-results.js";
import { POSTGRES_LIMITS } from "../../src/postgres/limits.js";
import { migrate } from "../../src/postgres/migrations.js";
import { clientSecret, codesInDatabase } from "../../src/postgres/settings.js";
import { PostgresTokens } from "../../src/postgres/tokens.js";
import { sessionId } from "../../src/session/store/file-store.js";
import { type Decision, decisionId } from "../../src/tools/index.js";
import { ResultStore } from "../../src/tools/result/store.js";
import { nodeWorld } from "../../src/world/index.js";
import { TemporaryFolder } from "../scenarios/agent.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres };
const nothing = () => undefined;
const world = nodeWorld({ log: { debug: nothing, info: nothing, warn: nothing, error: nothing } });

/** Two nodes of one new database. */
async function twoNodes(run: (one: Database, two: Database, url: string) => Promise<void>): Promise<void> {
  const url = await postgres.get().database();
  await using one = new Database({ world, url, applicationName: "one" });
  await using two = new Database({ world, url, applicationName: "two" });
  await migrate(world, one);
  await run(one, two, url);
}

const SECOND = { timeout: 1_000, interval: 20 };

scenario(
  ["G750"],
  "a token that one node makes and revokes is good and gone at the other within a second; the database has no token",
  () =>
    twoNodes(async (one, two, url) => {
      const kept = new Tokens(world, new PostgresTokens(one, world));
      await using live = new LiveTokens(world, new Tokens(world, new PostgresTokens(two, world)));
      await live.ready();
      const gone: string[] = [];
      live.onGone((id) => gone.push(id));
      const { token, listed } = await kept.create({ name: "laptop", account: "ann", scopes: ["prompt"] });
      await vi.waitFor(() => expect(typeof live.verify(token) === "object").toBe(true), SECOND);
      expect(live.verify(token)).toMatchObject({ account: "ann", tokenId: listed.id, name: "laptop" });
      const { cookie, listed: device } = await live.kept.createDevice({
        ...{ name: "phone", account: "ann", scopes: ["read"], parent: listed.id },
      });
      await live.ready();
      expect(live.verifyCookie(cookie)).toMatchObject({ tokenId: device.id, parentId: listed.id });
      expect(await kept.list()).toEqual([listed, device]);
      expect(JSON.stringify(await postgres.get().query("select * from tenon_token", url))).not.toContain(
        token.slice(4),
      );
      await expect(kept.create({ name: "laptop" })).rejects.toMatchObject({ code: "usage.invalid" });
      await kept.revoke("laptop");
      expect(await live.kept.list()).toHaveLength(2); // somebody who looks at the list must not hide it from the node
      await vi.waitFor(() => expect(gone.length === 2).toBe(true), SECOND);
      expect(live.verify(token)).toBe("revoked");
      expect(live.verifyCookie(cookie)).toBe("revoked");
      await kept.removeDevice(device.id);
      expect((await kept.list()).map(({ name }) => name)).toEqual(["laptop"]);
    }),
  needs,
);

scenario(
  ["G750"],
  "a token is good as long as it should be in a database that writes times in another form",
  async () => {
    const url = await postgres.get().database();
    for (const form of ["German", "SQL, DMY"]) {
      const set = `execute format('alter database %I set datestyle = %L', current_database(), '${form}')`;
      await postgres.get().query(`do $$ begin ${set}; end $$`, url);
      await using database = new Database({ world, url, applicationName: "one" });
      await migrate(world, database);
      const kept = new Tokens(world, new PostgresTokens(database, world));
      const { listed } = await kept.create({ name: form.slice(0, 3) });
      expect(await kept.list()).toContainEqual(listed);
      expect(await kept.revoke(listed.id)).toMatchObject({ id: listed.id, expiresAt: listed.expiresAt });
    }
  },
  needs,
);

scenario(
  ["G750", "G751"],
  "twenty tokens that two nodes make at once are all kept; a database that is away lets those in that were known",
  () =>
    twoNodes(async (one, two) => {
      const nodes = [one, two].map((database) => new Tokens(world, new PostgresTokens(database, world)));
      const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
      const made = await Promise.all(names.map(async (name, index) => await nodes[index % 2]?.create({ name })));
      expect((await nodes[0]?.list())?.map(({ name }) => name).sort()).toEqual(names.toSorted());
      await using live = new LiveTokens(world, new Tokens(world, new PostgresTokens(two, world)));
      await live.ready();
      const [first] = made;
      expect(live.verify(first?.token ?? "")).toMatchObject({ name: "t0" });
      await postgres.get().halt("immediate");
      await live.ready();
      expect(live.verify(first?.token ?? "")).toMatchObject({ name: "t0" });
      await expect(nodes[0]?.list()).rejects.toMatchObject({ code: "store.unavailable" });
      await postgres.get().start();
      await nodes[0]?.revoke("t0");
      await vi.waitFor(() => expect(live.verify(first?.token ?? "") === "revoked").toBe(true), SECOND);
      const used = async () => (await nodes[0]?.list())?.find(({ name }) => name === "t0")?.lastUsedAt;
      await live[Symbol.asyncDispose](); // writes when tokens were used last
      expect(await used()).toBeGreaterThan(0);
    }),
  needs,
);

scenario(
  ["G752", "G753"],
  "a code of one node lets a browser in at the other, once; five wrong ones at both make all void; keys are the same",
  () =>
    twoNodes(async (one, two, url) => {
      const [here, there] = [one, two].map((database) => new PairingCodes(world, codesInDatabase(database)));
      const grant = { account: "me", scopes: ["read" as const], expiresInMs: 1_000 };
      const code = (await here?.create(grant)) ?? "";
      const [shown] = await postgres.get().query("select value from tenon_setting where name = 'pairing-codes'", url);
      expect(String(shown?.["value"])).not.toContain(code);
      const verdicts = await Promise.all([here?.take(code), there?.take(code), there?.take(code)]);
      expect(verdicts.filter((one) => typeof one === "object")).toEqual([grant]);
      expect(verdicts.filter((one) => one === "used")).toHaveLength(2);
      const other = (await there?.create(grant)) ?? "";
      const { tries } = GATEWAY_LIMITS.page.codes;
      for (let at = 0; at < tries; at++) expect(await [here, there][at % 2]?.take(`wrong${at}`)).toBe("unknown");
      expect(await here?.take(other)).toBe("void");
      const late = (await here?.create(grant)) ?? "";
      const aged = (text: string) => text.replaceAll(/"madeMs":\d+/gu, '"madeMs":1');
      const [kept] = await postgres.get().query("select value from tenon_setting where name = 'pairing-codes'", url);
      const text = aged(String(kept?.["value"]));
      await one.query("update tenon_setting set value = $1 where name = 'pairing-codes'", [text]);
      expect(await there?.take(late)).toBe("expired");
      const [secret, same] = [await clientSecret(one, world), await clientSecret(two, world)];
      const { id, key } = new ClientKeys(world, secret).issue("ann");
      expect(new ClientKeys(world, same).isIssued("ann", id, key)).toBe(true);
    }),
  needs,
);

const TOOL: Decision = {
  kind: "tool",
  project: "/srv/app",
  origin: "project",
  server: "files",
  program: "hash-of-program",
  tool: "write",
  definitionHash: "hash-of-definition",
};
const COMMAND: Decision = {
  kind: "command",
  project: "/srv/app",
  folder: "/srv/app",
  words: ["npm", "test"],
  isExact: true,
};
const NEVER: Decision = { kind: "never", origin: "user", server: "mail", tool: "send\u0000'; drop table" };

scenario(
  ["G754"],
  "approvals of one node count at the other, for their account and project; damage and a database away are reported",
  () =>
    twoNodes(async (one, two, url) => {
      const [here, there] = [one, two].map((database) => new PostgresDecisions(database, world, "ann"));
      const bob = new PostgresDecisions(two, world, "bob");
      for (const decision of [TOOL, COMMAND, COMMAND]) await here?.keep(decision);
      await expect(here?.keep(NEVER)).resolves.toBeUndefined();
      const decided = async (project?: string) =>
        (await there?.load(project))?.decisions.map(({ decision }) => decision);
      expect(await decided()).toEqual([TOOL, COMMAND, NEVER]);
      expect(await decided("/srv/app")).toEqual([TOOL, COMMAND, NEVER]);
      expect(await decided("/srv/other")).toEqual([NEVER]);
      expect((await bob.load()).decisions).toEqual([]);
      const [row] = await postgres.get().query("select * from tenon_approval where kind = 'tool'", url);
      expect(row).toMatchObject({ account: "ann", project: "/srv/app", server: "files", tool: "write" });
      expect(row).toMatchObject({ program: "hash-of-program", definition_hash: "hash-of-definition" });
      expect(await postgres.get().query("select command from tenon_approval where kind = 'command'", url)).toEqual([
        { command: "npm test" },
      ]);
      await bob.remove(decisionId(COMMAND));
      await there?.remove(decisionId(COMMAND));
      await one.query("update tenon_approval set decision = '{' where kind = 'tool'");
      expect(await here?.load()).toMatchObject({
        decisions: [{ decision: NEVER }],
        problems: [{ id: decisionId(TOOL), reason: "it is damaged" }],
      });
      await postgres.get().halt("immediate");
      const after: World["after"] = (ms, run) => world.after(ms / 20, run);
      const hurried = { ...world, after, monotonicMs: () => world.monotonicMs() * 20 };
      const away = await new PostgresDecisions(one, hurried, "ann").load();
      expect(away.decisions).toEqual([]);
      expect(away.problems).toHaveLength(1);
      expect(away.problems[0]?.id).toBeUndefined(); // it may be any, also a refusal
      await expect(here?.keep(TOOL)).rejects.toMatchObject({ code: "store.unavailable" });
      const awaited = here?.load(); // a database that is back in time is waited for
      await postgres.get().start();
      expect((await awaited)?.decisions).toMatchObject([{ decision: NEVER }]);
    }),
  needs,
);

const MB = POSTGRES_LIMITS.keptPartBytes;
const SESSION = `insert into tenon_session (account, id, cwd, folder, additional_directories, epoch, state)
  values ('me', 's', '/w', '/w', '{}', 1, 'running')`;

scenario(
  ["G755"],
  "results of any size read back byte for byte, here and for the next owner; a superseded owner keeps nothing in the database",
  () =>
    twoNodes(async (one, two, url) => {
      using folder = new TemporaryFolder();
      await postgres.get().query(SESSION, url);
      const lost = new AbortController();
      const about = { world, account: "me" };
      const owned = (epoch: number) => ({ id: sessionId("s"), epoch, settled: Promise.resolve(), lost: lost.signal });
      const first = new ResultStore({ world, kept: new PostgresResults({ ...about, database: one, owned: owned(1) }) });
      const texts = ["", "x", "é".repeat(MB / 2), `${"a".repeat(MB - 1)}é${"b".repeat(MB)}`];
      const origin = { origin: "server / tool" };
      for (const text of texts) expect(await first.keepText([text], origin)).toMatchObject({ ok: true });
      const path = join(folder.path, "spilled");
      const bytes = randomBytes(2 * MB + 17);
      writeFileSync(path, bytes);
      const spilled = {
        type: "spilled",
        kind: "image",
        bytes: bytes.length,
        path,
        mimeType: "image/png",
        preview: "",
      } as const;
      expect(await first.keepSpilled(spilled, origin)).toMatchObject({ ok: true });
      const sizes = await postgres
        .get()
        .query("select max(length(data)) as max, count(*)::int as n from tenon_kept", url);
      expect(sizes).toEqual([{ max: MB, n: 5 + 0 + 1 + 1 + 3 + 3 }]);
      await using second = new ResultStore({
        world,
        kept: new PostgresResults({ ...about, database: two, owned: owned(2) }),
      });
      await one.query("update tenon_session set epoch = 2");
      for (const store of [first, second]) {
        expect((await store.list()).map(({ handle }) => handle)).toEqual(["r1", "r2", "r3", "r4", "r5"]);
        for (const [index, text] of [...texts.entries()].filter(([, one]) => one !== "")) {
          const all = await store.read(`r${index + 1}`, { start: 0, length: 4 * MB });
          expect(Buffer.from(all).equals(Buffer.from(text)), `r${index + 1}`).toBe(true);
        }
        const middle = await store.read("r5", { start: MB - 5, length: MB + 10 });
        expect(Buffer.from(middle).equals(bytes.subarray(MB - 5, 2 * MB + 5))).toBe(true);
      }
      expect(await first.keepText(["of the node that lost it"], origin)).toMatchObject({ result: { handle: "r6" } });
      expect(await second.keepText(["of its owner"], origin)).toMatchObject({ result: { handle: "r6" } });
      const own = await second.read("r6", { start: 0, length: 100 });
      expect(Buffer.from(own).toString()).toBe("of its owner");
      await using third = new ResultStore({
        world,
        kept: new PostgresResults({ ...about, database: one, owned: owned(2) }),
      });
      expect(Buffer.from(await third.read("r6", { start: 0, length: 9 })).toString()).toBe("of its ow");
      await first[Symbol.asyncDispose]();
    }),
  needs,
);

scenario(
  ["G755"],
  "a result waits for a database that restarts; one that stays away costs the database's copy, not the result",
  () =>
    twoNodes(async (one, _two, url) => {
      await postgres.get().query(SESSION, url);
      const lost = new AbortController();
      const about = { world, account: "me" };
      const owned = (epoch: number) => ({ id: sessionId("s"), epoch, settled: Promise.resolve(), lost: lost.signal });
      const kept = new PostgresResults({ ...about, database: one, owned: owned(1) });
      await using store = new ResultStore({ world, kept });
      await store.list();
      await postgres.get().halt("immediate");
      const keeping = store.keepText(["patience"], { origin: "a / b" });
      await postgres.get().start();
      expect(await keeping).toMatchObject({ ok: true });
      expect(await postgres.get().query("select name from tenon_kept order by name", url)).toEqual([
        { name: "index" },
        { name: "r1.txt" },
      ]);
      await postgres.get().halt("immediate");
      lost.abort(); // the lease is over
      expect(await store.keepText(["in memory"], { origin: "a / b" })).toMatchObject({ ok: true });
      expect(Buffer.from(await store.read("r2", { start: 0, length: 99 })).toString()).toBe("in memory");
      await postgres.get().start();
    }),
  needs,
);
