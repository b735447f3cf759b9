// The audit file of a gateway: who came in, who was refused, who answered which question. Never contents, never tokens.
import { join } from "node:path";
import { handled } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { type AppendFile, escapeUnseen, type LogFields, type World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";

export type AuditEvent =
  | "gateway.started"
  | "gateway.stopped"
  /** A connection of a principal began. */
  | "connected"
  | "disconnected"
  /** A request before any principal was known: token, Host, Origin, limits of connections. */
  | "refused"
  /** A request of a principal that it may not make. */
  | "denied"
  /** A request above the limits of its connection or token; the first of a minute. */
  | "limited"
  /** A message of a principal that is no JSON-RPC; the first of a minute. */
  | "malformed"
  | "token.created"
  | "token.revoked"
  | "question.answered";

/** One JSON object a line, in `<stateDir>/gateway/audit.ndjson`; the lines before that are in `audit.1.ndjson`. */
export class AuditLog implements AsyncDisposable {
  readonly #world: World;
  readonly path: string;
  readonly #old: string;
  #file: AppendFile | undefined;
  #bytes = 0;
  #waiting: string[] | undefined;
  #rotation: Promise<void> | undefined;
  #isClosed = false;

  private constructor(world: World, folder: string) {
    this.#world = world;
    this.path = join(folder, "audit.ndjson");
    this.#old = join(folder, "audit.1.ndjson");
  }

  static async open(world: World, stateDir: string): Promise<AuditLog> {
    const audit = new AuditLog(world, join(stateDir, "gateway"));
    audit.#file = world.files.openAppend(audit.path);
    audit.#bytes = (await world.files.find(audit.path))?.bytes ?? 0;
    return audit;
  }

  /** Never throws: a disk that is full must not lock people out, and the log says that the line is missing. */
  write(event: AuditEvent, fields: LogFields): void {
    if (this.#isClosed) return;
    const short = Object.entries(fields).map(([name, value]) => [name, shortened(value)]);
    const head = { t: new Date(this.#world.now()).toISOString(), event };
    const line = `${escapeUnseen(JSON.stringify({ ...head, ...Object.fromEntries(short), ...head }))}\n`;
    if (this.#waiting) {
      if (this.#waiting.length < GATEWAY_LIMITS.audit.maxWaiting) this.#waiting.push(line);
      else this.#world.log.error("gateway.audit_line_lost", { event });
      return;
    }
    this.#append(line);
    if (this.#bytes > GATEWAY_LIMITS.audit.maxBytes) this.#rotate();
  }

  #append(line: string): void {
    try {
      this.#file ??= this.#world.files.openAppend(this.path);
      this.#file.write(line);
      this.#bytes += Buffer.byteLength(line);
    } catch (error) {
      this.#world.log.error("gateway.audit_failed", { path: this.path, error: messageOf(error) });
    }
  }

  #rotate(): void {
    const waiting: string[] = [];
    this.#waiting = waiting;
    this.#rotation = this.#moveAway().finally(() => {
      this.#waiting = undefined;
      this.#rotation = undefined;
      for (const line of waiting) this.#append(line);
    });
    handled(this.#rotation, this.#world.log, "rotate the audit file");
  }

  async #moveAway(): Promise<void> {
    try {
      this.#file?.close();
      this.#file = undefined;
      await this.#world.files.adopt(this.path, this.#old);
      await this.#world.files.remove(this.path);
    } catch (error) {
      this.#world.log.error("gateway.audit_failed", { path: this.path, error: messageOf(error) });
    }
    this.#bytes = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rotation?.catch(() => {});
    this.#isClosed = true;
    this.#file?.close();
    this.#file = undefined;
  }
}

function shortened(value: LogFields[string]): LogFields[string] {
  if (typeof value !== "string" || value.length <= GATEWAY_LIMITS.audit.fieldChars) return value;
  return `${value.slice(0, GATEWAY_LIMITS.audit.fieldChars)}…`;
}
