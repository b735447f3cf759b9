// Appends to PostgreSQL that are odd, long, refused or locked out: what they cost other sessions of their node, and its lease.
import { expect } from "vitest";
import { Database } from "../../src/postgres/index.js";
import { about, journalOf, openNode, said, textsOf, world } from "../postgres-nodes.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres };

scenario(
  ["G739"],
  "texts with NUL, lines of megabytes, a full disk and values that the database does not take cost no other session anything",
  async () => {
    const url = await postgres.get().database();
    await using node = await openNode("a", { url });
    const label = "with \u0000";
    const odd = node.sessions.create({ ...about("odd"), label });
    const other = node.sessions.create(about("other"));
    const [journal, others] = [journalOf(odd), journalOf(other)];
    const long = "ä".repeat(6_000_000);
    journal.append({ kind: "title", title: "a\u0000b" }, said("nul \u0000 and half \ud800"), said(long), said("end"));
    await journal.durable();
    expect(await textsOf(node.sessions, "odd")).toEqual(["nul \u0000 and half \ud800", long, "end"]);
    expect((await node.sessions.read("odd", 1, 10)).map(({ seq }) => seq)).toEqual([2]);
    expect((await node.sessions.read("odd", 2, 10)).map(({ seq }) => seq)).toEqual([3]);
    expect((await node.sessions.list({ label })).sessions).toMatchObject([
      { id: "odd", title: "a\ufffdb", state: "idle" },
    ]);

    const failing = (
      code: string,
      when: string,
    ) => `create or replace function refuse() returns trigger language plpgsql as
      $$ begin if ${when} then raise exception 'refused' using errcode = '${code}'; end if; return new; end $$`;
    const sql = (text: string) => postgres.get().query(text, url);
    await sql(failing("53100", "true"));
    await sql("create trigger refuse before insert on tenon_record for each row execute function refuse()");
    others.append(said("waits"));
    const waiting = others.durable();
    await expect.poll(() => node.nodes.figures().appendBatches).toBeGreaterThan(0);
    await sql(failing("22021", "new.line like '%poison%'"));
    await waiting;
    journal.append(said("poison"));
    others.append(said("beside it"));
    await expect(journal.durable()).rejects.toMatchObject({ code: "session.not_recorded" });
    expect(() => journal.assertWritten()).toThrow(expect.objectContaining({ code: "session.not_recorded" }));
    await others.durable();
    expect(await textsOf(node.sessions, "other")).toEqual(["waits", "beside it"]);
    await odd.release();
    const again = await node.sessions.acquire(about("odd"), () => {});
    expect(again.owned.lastSeq).toBe(4);
    await again.owned.release();
    await other.release();
  },
  needs,
);

scenario(
  ["G739"],
  "a record of 32 MB of quotes, as a client may send it, and messages of 8 MB to another node cost the node no lease",
  async () => {
    const url = await postgres.get().database();
    await using node = await openNode("a", { url, leaseMs: 1_500 });
    await using other = await openNode("b", { url, leaseMs: 1_500 });
    const owners = [node, other].map(({ nodes }) => nodes.self.value);
    const quotes = (bytes: number) => '"'.repeat(bytes / 2); // each has two in JSON
    const owned = node.sessions.create(about("long"));
    const journal = journalOf(owned);
    const long = quotes(33_554_432);
    journal.append(said(long), said("end"));
    await journal.durable();
    expect((await textsOf(node.sessions, "long")).map(({ length }) => length)).toEqual([long.length, 3]);
    const bodies = [1, 2].map((n) => JSON.stringify({ n, text: quotes(8_000_000) }));
    const heard: string[] = [];
    const listening = other.nodes.listen({ onMessage: ({ body }) => heard.push(body), onBroken: () => {} });
    for (const [index, body] of bodies.entries())
      node.nodes.send({ node: owners[1] ?? "", link: "x", n: index + 1, body });
    await expect.poll(() => heard.length, { timeout: 20_000 }).toBe(2);
    expect(heard.every((body, index) => body === bodies[index])).toBe(true);
    listening[Symbol.dispose]();
    expect([node, other].map(({ nodes }) => nodes.self.value)).toEqual(owners);
    await owned.release();
  },
  needs,
);

scenario(
  ["G739"],
  "a session whose row somebody keeps locked waits alone: what other sessions of its node append is written, and others are released",
  async () => {
    const url = await postgres.get().database();
    await using node = await openNode("a", { url });
    const owned = ["locked", "other", "leaving"].map((id) => node.sessions.create(about(id)));
    await Promise.all(owned.map(({ settled }) => settled));
    await using database = new Database({ world, url, applicationName: "tenon test" });
    using somebody = database.connection();
    await somebody.query({ text: "begin" });
    await somebody.query({ text: "select from tenon_session where id <> 'other' for update" });
    const journals = owned.slice(0, 2).map(journalOf);
    for (const journal of journals) journal.append(said("one"));
    await journals[1]?.durable();
    journals[1]?.append(said("two"));
    await journals[1]?.durable();
    expect(await textsOf(node.sessions, "locked")).toEqual([]);
    let hasLeft = false;
    const leaving = owned[2]?.release().then(() => (hasLeft = true));
    await owned[1]?.release();
    expect(hasLeft).toBe(false);
    await somebody.query({ text: "rollback" });
    await journals[0]?.durable();
    await leaving;
    expect(await textsOf(node.sessions, "locked")).toEqual(["one"]);
    expect(await textsOf(node.sessions, "other")).toEqual(["one", "two"]);
    await owned[0]?.release();
    expect(await postgres.get().query("select id from tenon_session where owner is not null", url)).toEqual([]);
  },
  needs,
);
