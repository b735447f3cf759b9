// Sessions in PostgreSQL: the database itself, the contract of stores, leases, and what becomes of appends when things break.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { expect } from "vitest";
import { startPostgres } from "../postgres.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres };

scenario(
  ["G730"],
  "a PostgreSQL of the tests: empty databases, a restart as after a crash, and nothing left of it",
  async () => {
    const shared = postgres.get();
    const [one, two] = [await shared.database(), await shared.database()];
    await shared.query("create table thing as select 1 as n", one);
    expect(await shared.query("select to_regclass('thing') as thing", two)).toEqual([{ thing: null }]);
    await shared.restart("immediate");
    expect(await shared.query("select n from thing", one)).toEqual([{ n: 1 }]);
    const other = await startPostgres({ listen: { address: "127.0.0.1", port: await freePort() } });
    expect(existsSync(other.socketDir)).toBe(true);
    expect(await other.query("select 1 as n", other.tcpUrl)).toEqual([{ n: 1 }]);
    await other.stop();
    await other.stop();
    expect(existsSync(other.socketDir)).toBe(false);
  },
  needs,
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
