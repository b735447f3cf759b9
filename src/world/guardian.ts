// The guardian: one tiny process that outlives this one by a moment, and ends whatever servers it left behind.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** The variable every child carries. Its value is `<guardian id>.<number>`; a descendant keeps it, whatever its group. */
export const MARKER = "TENON_SERVER";

/**
 * Learns process groups line by line on its input. The end of that input without a dot before it means that Tenon is
 * gone: then everything registered, in our control groups or with the marker gets TERM and a moment later KILL.
 */
const SCRIPT = `
trap '' HUP INT TERM PIPE
id= groups= folder= cgroups=
while IFS= read -r line; do
  word=\${line#?}
  case $line in
    .) exit 0 ;;
    '#'*) id=$word ;;
    +*) groups="$groups $word" ;;
    -*) kept=; for group in $groups; do [ "$group" = "$word" ] || kept="$kept $group"; done; groups=$kept ;;
    '~'*) folder=$word ;;
    %*) cgroups=$word ;;
  esac
done
all() {
  for group in $groups; do kill -s "$1" -- "-$group" 2>/dev/null; done
  if [ -n "$cgroups" ]; then
    for procs in "$cgroups".*/cgroup.procs; do
      [ -f "$procs" ] && while IFS= read -r pid; do kill -s "$1" "$pid" 2>/dev/null; done < "$procs"
    done
  fi
  [ -d /proc/self ] || return 0
  for file in $(grep -l -F "${MARKER}=$id." /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}; kill -s "$1" "\${pid%/environ}" 2>/dev/null
  done
}
all TERM
sleep 0.1 2>/dev/null || sleep 1
all KILL
case $folder in */tenon-??????) rm -rf -- "$folder" ;; esac
all KILL
[ -n "$cgroups" ] || exit 0
for attempt in 1 2 3 4 5; do
  isleft=
  for group in "$cgroups".*; do [ -d "$group" ] && { rmdir "$group" 2>/dev/null || isleft=1; }; done
  [ -n "$isleft" ] || exit 0
  sleep 0.1 2>/dev/null || sleep 1
  all KILL
done
`;

/** A guardian that dies is started anew, but not for ever: something on this machine does not want it. */
const MAX_STARTS_IN_A_ROW = 3;

/** It goes within milliseconds; one that is stopped or stuck is not waited for. */
const GOODBYE_MS = 500;

class Guardian {
  readonly id: string = randomBytes(8).toString("hex");
  readonly #groups = new Set<number>();
  #folder: string | undefined;
  #cgroups: string | undefined;
  #process: ChildProcess | undefined;
  #starts = 0;

  /** What `ps` would show as its process; undefined while nothing is watched. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  watchGroup(groupId: number): void {
    this.#groups.add(groupId);
    this.#tell(`+${groupId}`);
  }

  /** The beginning of the paths of all control groups of this process. */
  watchCgroups(start: string): void {
    if (this.#cgroups === start) return;
    this.#cgroups = start;
    this.#tell(`%${start}`);
  }

  watchFolder(path: string): void {
    this.#folder = path;
    this.#tell(`~${path}`);
  }

  /** Resolves at once, or when the guardian has gone because there is nothing left to watch. */
  async forgetGroup(groupId: number): Promise<void> {
    if (!this.#groups.delete(groupId)) return;
    this.#tell(`-${groupId}`);
    await this.#endIfIdle();
  }

  async forgetFolder(): Promise<void> {
    this.#folder = undefined;
    this.#tell("~");
    await this.#endIfIdle();
  }

  /** One write, without waiting: the kernel has it before this process can be killed for the next thing it does. */
  #tell(line: string): void {
    if (process.platform === "win32") return;
    if (this.#process) this.#process.stdin?.write(`${line}\n`);
    else this.#start();
  }

  #start(): void {
    if (this.#starts >= MAX_STARTS_IN_A_ROW) return;
    const child = startGuardian();
    if (!child) return; // tried again with the next group
    this.#starts++;
    this.#process = child;
    child.on("error", () => this.#lost(child));
    child.on("exit", () => this.#lost(child));
    child.stdin.on("error", () => {}); // it is gone: `exit` says so
    child.unref();
    if (child.stdin instanceof Socket) child.stdin.unref();
    const lines = [
      `#${this.id}`,
      ...[...this.#groups].map((group) => `+${group}`),
      `~${this.#folder ?? ""}`,
      `%${this.#cgroups ?? ""}`,
    ];
    child.stdin.write(`${lines.join("\n")}\n`);
  }

  #lost(child: ChildProcess): void {
    if (this.#process !== child) return;
    this.#process = undefined;
    if (!this.#isIdle()) this.#start();
  }

  async #endIfIdle(): Promise<void> {
    const child = this.#process;
    if (!child || !this.#isIdle()) return;
    this.#process = undefined;
    this.#starts = 0;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GOODBYE_MS);
      child.once("exit", () => {
        clearTimeout(timer);
        resolve();
      });
      child.stdin?.end(".\n");
    });
  }

  #isIdle(): boolean {
    return this.#groups.size === 0 && this.#folder === undefined;
  }
}

/** Undefined when there are no file descriptors or processes left to start it with. */
function startGuardian(): (ChildProcess & { stdin: Writable }) | undefined {
  try {
    const child = spawn("/bin/sh", ["-c", SCRIPT, "tenon-guardian"], {
      cwd: "/",
      detached: true, // a session of its own: no signal of the terminal reaches it
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.on("error", () => {}); // an `error` without a listener ends this process
    return child.pid === undefined ? undefined : child;
  } catch {
    return undefined;
  }
}

/** One for the whole process, however many Worlds there are. */
export const guardian: Guardian = new Guardian();
