// The guardian: one tiny process that outlives this one by a moment, and ends whatever servers it left behind.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** The variable every child carries. Its value is `<guardian id>.<number>`; a descendant keeps it, whatever its group. */
export const MARKER = "TENON_SERVER";

/**
 * Learns process groups line by line on its input. The end of that input without a dot before it means that Tenon is
 * gone: then everything registered, in our control groups or with the marker gets TERM and a moment later KILL. Folders that were
 * made for sandboxes go too, where they are empty and no other sandbox has something mounted there.
 */
const SCRIPT = `
trap '' HUP INT TERM PIPE
id= groups= folder= cgroups= ignored=
while IFS= read -r line; do
  word=\${line#?}
  case $line in
    .) exit 0 ;;
    '#'*) id=$word ;;
    +*) groups="$groups $word" ;;
    -*) kept=; for group in $groups; do [ "$group" = "$word" ] || kept="$kept $group"; done; groups=$kept ;;
    '~'*) folder=$word ;;
    %*) cgroups=$word ;;
    !*) ignored="$ignored $word/cgroup.procs " ;;
    '<'*) set -- "$@" "$word" ;;
    '>'*) for made; do shift; [ "$made" = "$word" ] || set -- "$@" "$made"; done ;;
  esac
done
all() {
  for group in $groups; do kill -s "$1" -- "-$group" 2>/dev/null; done
  if [ -n "$cgroups" ]; then
    for procs in "$cgroups".*/cgroup.procs; do
      case $ignored in *" $procs "*) continue ;; esac
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
for attempt in 1 2 3 4 5; do
  isleft=
  [ -z "$cgroups" ] || for group in "$cgroups".*; do [ -d "$group" ] && { rmdir "$group" 2>/dev/null || isleft=1; }; done
  for made; do
    [ -d "$made" ] || continue
    if grep -q -s -F " $made " /proc/[0-9]*/mountinfo; then isleft=1; else rmdir "$made" 2>/dev/null; fi
  done
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
  readonly #ignored = new Set<string>();
  /** By path: how many children use it. */
  readonly #made = new Map<string, number>();
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

  /** This process could not leave that one again: whatever it started since is in it too. */
  ignoreCgroup(folder: string): void {
    this.#ignored.add(folder);
    if (this.#process) this.#tell(`!${folder}`);
  }

  /** A folder that starting a child makes. Names that mountinfo writes in another way are left out. */
  watchMade(folder: string): void {
    if (/[\s\\]/u.test(folder)) return;
    const users = this.#made.get(folder) ?? 0;
    this.#made.set(folder, users + 1);
    if (users === 0 && this.#process) this.#tell(`<${folder}`);
  }

  forgetMade(folder: string): void {
    const users = this.#made.get(folder) ?? 0;
    if (users > 1) this.#made.set(folder, users - 1);
    else if (this.#made.delete(folder) && this.#process) this.#tell(`>${folder}`);
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
      ...[...this.#ignored].map((folder) => `!${folder}`),
      ...[...this.#made.keys()].map((folder) => `<${folder}`),
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
