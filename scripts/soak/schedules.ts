// `npm run soak -- schedules [count] [postgres]`: random schedules of appends, followers, crashes and takeovers over one session's log.
import { runSchedules } from "../../test/log-schedules.js";
import { startPostgres } from "../../test/postgres.js";
import { schedulesOverPostgres } from "../../test/postgres-nodes.js";
import type { Soak } from "../lib/soak-report.js";

const SCHEDULES = 100_000;

export const soak: Soak = async ([given, where]) => {
  const count = given === undefined ? SCHEDULES : Number(given);
  const isPostgres = where === "postgres";
  const { schedules, records, followed, resumed, takeovers, refused } = isPostgres
    ? await overPostgres(count)
    : await runSchedules(count);
  const notes = [
    `${schedules} random schedules over the log of a session ${isPostgres ? "in PostgreSQL" : "and its files"}: ${records} records, of which followers had ${followed} without a gap,`,
    `a repeat or another event than the one stored; they came back ${resumed} records into the log in all. ${takeovers} takeovers (crashes, torn writes,`,
    `owners that lost their ${isPostgres ? "session" : "lock"}), ${refused} appends of superseded owners, all refused; no call had two outcomes.`,
  ];
  console.log(notes.join("\n"));
  return { passed: schedules, failed: 0, notes };
};

async function overPostgres(count: number): ReturnType<typeof runSchedules> {
  await using postgres = await startPostgres();
  await using over = await schedulesOverPostgres(postgres);
  return await runSchedules(count, over.makePlace);
}
