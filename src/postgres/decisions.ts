// What people decided for longer than one call, in PostgreSQL: each as the text that a file would have, beside what is searched.
import { sleep } from "../base/async/deadline.js";
import { messageOf, TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import {
  type Decision,
  type DecisionStore,
  decisionId,
  decisionText,
  type LoadedDecisions,
  readDecision,
} from "../tools/index.js";
import type { Database, Row } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";

const LOAD = `select id, decision from tenon_approval
  where account = $1 and ($2::text is null or project is null or project = $2) order by decided_at, id`;
const KEEP = `insert into tenon_approval
    (account, id, kind, project, server, tool, program, definition_hash, command, decision)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (account, id) do update set decision = excluded.decision, decided_at = now()`;

export class PostgresDecisions implements DecisionStore {
  readonly #database: Database;
  readonly #world: Pick<World, "log" | "now" | "after" | "monotonicMs">;
  readonly #account: string;

  constructor(database: Database, world: Pick<World, "log" | "now" | "after" | "monotonicMs">, account: string) {
    this.#database = database;
    this.#world = world;
    this.#account = account;
  }

  async load(project?: string): Promise<LoadedDecisions> {
    const place = `the approvals in ${this.#database.shown}`;
    try {
      const rows = await this.#rows(project ?? null);
      const read = rows.map((row) => {
        const id = String(row["id"]);
        return readDecision(id, String(row["decision"])) ?? { file: place, id, reason: "it is damaged" };
      });
      const problems = read.filter((one) => "reason" in one);
      for (const { file, reason } of problems) this.#world.log.warn("decision.not_read", { file, error: reason });
      return { decisions: read.filter((one) => "decision" in one), problems };
    } catch (error) {
      const reason = messageOf(error);
      this.#world.log.warn("decision.not_read", { file: place, error: reason });
      return { decisions: [], problems: [{ file: place, reason }] };
    }
  }

  /** A database that is away for a moment is waited for: without the decisions everything would be asked about. */
  async #rows(project: string | null): Promise<readonly Row[]> {
    const untilMs = this.#world.monotonicMs() + POSTGRES_LIMITS.keptWaitMs;
    for (;;) {
      try {
        return await this.#database.query(LOAD, [this.#account, project]);
      } catch (error) {
        const isAway = error instanceof TenonError && error.code === "store.unavailable";
        if (!isAway || this.#world.monotonicMs() >= untilMs) throw error;
        await sleep(this.#world, POSTGRES_LIMITS.retry.maxMs, new AbortController().signal);
      }
    }
  }

  async keep(decision: Decision): Promise<void> {
    const { server, tool, program, definitionHash } = namesOf(decision);
    const project = "project" in decision ? decision.project : null;
    const command = decision.kind === "command" ? decision.words.join(" ") : null;
    // The text of a table has no NUL; the whole decision has it as JSON.
    const about = [project, server, tool, program, definitionHash, command].map(
      (one) => one?.replaceAll("\0", "\ufffd") ?? null,
    );
    const text = decisionText(decision, this.#world.now());
    const id = decisionId(decision);
    await this.#database.query(KEEP, [this.#account, id, decision.kind, ...about, text]);
  }

  async remove(id: string): Promise<void> {
    await this.#database.query("delete from tenon_approval where account = $1 and id = $2", [this.#account, id]);
  }
}

function namesOf(decision: Decision): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(decision).filter(([, value]) => typeof value === "string"));
}
