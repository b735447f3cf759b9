// A real Secret Service as a desktop has one: a session bus of its own, and GNOME Keyring on it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { runCommand } from "./run-command.js";

/** What has to be installed for it. */
export const SECRET_SERVICE: readonly string[] = ["dbus-daemon", "dbus-send", "gnome-keyring-daemon"];

const READY_MS = 20_000;
const BUS_NAME = "org.freedesktop.secrets";
const COLLECTION = "/org/freedesktop/secrets/collection/login";

/** No folder of services: whatever is asked for must be there, and nothing is started by asking. */
const busConfig = (folder: string): string => `<busconfig>
  <type>session</type>
  <listen>unix:dir=${folder}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

export class SecretService implements AsyncDisposable {
  readonly #folder: TemporaryFolder;
  readonly #children: readonly ChildProcess[];
  /** What leads a program to it. */
  readonly env: Readonly<Record<string, string>>;

  private constructor(
    folder: TemporaryFolder,
    children: readonly ChildProcess[],
    env: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#children = children;
    this.env = env;
  }

  /** Unlocked, with an empty keyring. */
  static async start(): Promise<SecretService> {
    const folder = new TemporaryFolder();
    const file = join(folder.path, "bus.xml");
    writeFileSync(file, busConfig(folder.path));
    const places = { HOME: folder.path, XDG_RUNTIME_DIR: folder.path };
    const bus = spawn("dbus-daemon", ["--nofork", "--print-address=1", `--config-file=${file}`], {
      env: cleanEnv(folder.path, places),
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [printed]: unknown[] = await once(bus.stdout, "data");
    bus.stdout.destroy();
    const env = { DBUS_SESSION_BUS_ADDRESS: String(printed).trim(), XDG_RUNTIME_DIR: folder.path };
    const keyring = spawn("gnome-keyring-daemon", ["--foreground", "--unlock", "--components=secrets"], {
      env: cleanEnv(folder.path, { ...places, ...env }),
      stdio: ["pipe", "ignore", "ignore"],
    });
    keyring.stdin.end("the password of the keyring");
    const service = new SecretService(folder, [keyring, bus], env);
    await service.#ready();
    return service;
  }

  /** As when the screen is locked; nobody is there to unlock it. */
  async lock(): Promise<void> {
    const printed = await this.#send(BUS_NAME, "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock", [
      `array:objpath:${COLLECTION}`,
    ]);
    if (!printed.includes(COLLECTION)) throw new Error(`not locked: ${printed}`);
  }

  /** It takes what it is asked, and does not answer any more. */
  freeze(): void {
    this.#children[0]?.kill("SIGSTOP");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    this.#folder[Symbol.dispose]();
  }

  async #ready(): Promise<void> {
    const end = performance.now() + READY_MS;
    const isThere = async () =>
      (
        await this.#send("org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner", [`string:${BUS_NAME}`])
      ).includes("true");
    while (!(await isThere())) {
      if (performance.now() > end) throw new Error("there is no Secret Service on the bus");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #send(to: string, path: string, method: string, args: readonly string[]): Promise<string> {
    const words = ["--session", "--print-reply", `--dest=${to}`, path, method, ...args];
    const options = { env: cleanEnv(this.#folder.path, this.env), cwd: this.#folder.path };
    const { stdout, stderr } = await runCommand("dbus-send", words, options);
    return stdout + stderr;
  }
}
