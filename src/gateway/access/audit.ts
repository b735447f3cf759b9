// The audit file of a gateway: who came in, who was refused, who answered which question. Never contents, never tokens.
import { join } from "node:path";
import { handled } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { type AppendFile, escapeUnseen, type LogFields, type Timer, type World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";

export type AuditEvent =
  | "gateway.started"
  | "gateway.stopped"
  /** A connection of a principal began. */
  | "connected"
  | "disconnected"
  /** A request before any principal was known: token, Host, Origin, limits of connections. */
  | "refused"
  /** A request of a principal that it may not make. The first is written at once, the others of its minute as one line with their `count`. */
  | "denied"
  /** A request above the limits of its connection or token; counted likewise. */
  | "limited"
  /** A message of a principal that is no JSON-RPC; counted likewise. */
  | "malformed"
  /** A pairing code was made. */
  | "code.created"
  /** A browser was let in, by a token or a pairing code. Counted likewise, for all devices of one token. */
  | "logged_in"
  | "logged_out"
  | "token.created"
  | "token.revoked"
  | "question.answered"
  /** A client brought tools that it runs itself; counted as what may not be made. */
  | "tools.set";

/** What clients can repeat at will: it must not push out who came in and who answered what. */
const COUNTED: ReadonlySet<AuditEvent> = new Set<AuditEvent>([
  ...(["denied", "limited", "malformed", "tools.set", "logged_in", "logged_out"] as const),
]);

interface Repeated {
  readonly event: AuditEvent;
  readonly fields: LogFields;
  count: number;
}

/** One JSON object a line, in `<stateDir>/gateway/audit.ndjson`; the lines before that are in `audit.1.ndjson`, and so on. */
export class AuditLog implements AsyncDisposable {
  readonly #world: World;
  readonly path: string;
  readonly #folder: string;
  /** Of this minute, by all that is written of them. */
  readonly #repeated = new Map<string, Repeated>();
  #minute: Timer | undefined;
  /** What could not be written last. */
  #unwritten: string | undefined;
  #file: AppendFile | undefined;
  #bytes = 0;
  #waiting: string[] | undefined;
  #rotation: Promise<void> | undefined;
  #isClosed = false;

  private constructor(world: World, folder: string) {
    this.#world = world;
    this.#folder = folder;
    this.path = join(folder, "audit.ndjson");
  }

  static async open(world: World, stateDir: string): Promise<AuditLog> {
    const audit = new AuditLog(world, join(stateDir, "gateway"));
    audit.#file = world.files.openAppend(audit.path);
    audit.#bytes = (await world.files.find(audit.path))?.bytes ?? 0;
    return audit;
  }

  /** Never throws: a disk that is full must not lock people out, and the log says that the line is missing. */
  write(event: AuditEvent, fields: LogFields): void {
    if (this.#isClosed || (COUNTED.has(event) && this.#isRepeated(event, fields))) return;
    this.#write(event, fields);
  }

  /** False when the last line is not on the disk, and cannot be put there now either. */
  isWritten(): boolean {
    const line = this.#unwritten;
    if (line !== undefined && !this.#waiting && !this.#isClosed) this.#append(line);
    return this.#unwritten === undefined;
  }

  #isRepeated(event: AuditEvent, fields: LogFields): boolean {
    const { countedMs, counted } = GATEWAY_LIMITS.audit;
    this.#minute ??= this.#world.after(countedMs, () => this.#writeRepeated());
    const isRoom = this.#repeated.size < counted;
    const { device: _each, ...who } = fields;
    const key = JSON.stringify([event, who]);
    const earlier = this.#repeated.get(key) ?? (isRoom ? undefined : this.#repeated.get(event));
    if (earlier) earlier.count += 1;
    else this.#repeated.set(isRoom ? key : event, { event, fields: isRoom ? who : { account: null }, count: 0 });
    return earlier !== undefined;
  }

  #writeRepeated(): void {
    this.#minute?.clear();
    this.#minute = undefined;
    for (const { event, fields, count } of this.#repeated.values()) {
      if (count > 0) this.#write(event, { ...fields, count });
    }
    this.#repeated.clear();
  }

  #write(event: AuditEvent, fields: LogFields): void {
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
      this.#unwritten = undefined;
    } catch (error) {
      this.#unwritten = line;
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
      const { files } = this.#world;
      const old = (number: number) => join(this.#folder, `audit.${number}.ndjson`);
      for (let number = GATEWAY_LIMITS.audit.keptFiles - 1; number > 0; number--) {
        if (await files.find(old(number))) await files.adopt(old(number), old(number + 1));
      }
      await files.adopt(this.path, old(1));
      await files.remove(this.path);
    } catch (error) {
      this.#world.log.error("gateway.audit_failed", { path: this.path, error: messageOf(error) });
    }
    this.#bytes = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#writeRepeated();
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
