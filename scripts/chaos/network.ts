// A network namespace for each node, with a wire to the machine: so a node can lose the database and nothing else.
import { execFileSync } from "node:child_process";

/** Where a node is reached, and how a program is started there. */
export interface NodePlace {
  readonly address: string;
  readonly port: number;
  command(program: string, args: readonly string[]): readonly [string, ...string[]];
}

export interface Network extends Disposable {
  /** Of this machine, as the nodes see it. */
  readonly host: string;
  readonly places: readonly NodePlace[];
  /** Nothing passes between that node and this port of the machine until it is called; undefined: not possible here. */
  readonly cut: ((node: number, port: number) => () => void) | undefined;
  /** Why it is not. */
  readonly missing?: string;
}

const PORT = 4711;

export function openNetwork(count: number): Network {
  const missing = lacksNamespaces();
  if (missing !== undefined) return loopback(count, missing);
  const { pid } = process;
  const [bridge, names] = [`tnb${pid % 100_000}`, Array.from({ length: count }, (_, index) => `tenon-${pid}-${index}`)];
  const net = `10.${200 + (pid % 50)}.${Math.floor(pid / 50) % 250}`;
  const close = () => {
    process.off("exit", close);
    for (const name of names) tolerant(["netns", "del", name]);
    tolerant(["link", "del", bridge]);
  };
  process.on("exit", close);
  try {
    ip("link", "add", bridge, "type", "bridge");
    ip("addr", "add", `${net}.1/24`, "dev", bridge);
    ip("link", "set", bridge, "up");
    for (const [index, name] of names.entries()) {
      const [outer, inner] = [`tn${pid % 100_000}-${index}`, "eth0"];
      ip("netns", "add", name);
      ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name);
      ip("link", "set", outer, "master", bridge, "up");
      for (const words of [`addr add ${net}.${index + 10}/24 dev ${inner}`, `link set ${inner} up`, "link set lo up"]) {
        ip("-n", name, ...words.split(" "));
      }
    }
  } catch (error) {
    close();
    return loopback(count, `no network namespaces: ${error instanceof Error ? error.message : String(error)}`);
  }
  const nft = (node: number, script: string) =>
    execFileSync("ip", ["netns", "exec", names[node] ?? "", "nft", "-f", "-"], {
      input: script,
      stdio: ["pipe", "pipe", "pipe"],
    });
  return {
    host: `${net}.1`,
    places: names.map((name, index) => ({
      address: `${net}.${index + 10}`,
      port: PORT,
      command: (program, args) => ["ip", "netns", "exec", name, program, ...args],
    })),
    cut: (node, port) => {
      const rules = [
        "add table inet chaos",
        "add chain inet chaos out { type filter hook output priority 0; }",
        "add chain inet chaos in { type filter hook input priority 0; }",
        `add rule inet chaos out ip daddr ${net}.1 tcp dport ${port} drop`,
        `add rule inet chaos in ip saddr ${net}.1 tcp sport ${port} drop`,
      ];
      nft(node, `${rules.join("\n")}\n`);
      return () => nft(node, "delete table inet chaos\n");
    },
    [Symbol.dispose]: close,
  };
}

function lacksNamespaces(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "network namespaces need root on Linux";
  for (const program of ["ip", "nft"]) {
    try {
      execFileSync(program, ["-V"], { stdio: "ignore" });
    } catch {
      return `there is no ${program}`;
    }
  }
  return undefined;
}

/** Every node at the loopback address, at a port of its own. */
function loopback(count: number, missing: string): Network {
  const first = 20_000 + (process.pid % 10_000) * 4;
  return {
    host: "127.0.0.1",
    places: Array.from({ length: count }, (_, index) => ({
      address: "127.0.0.1",
      port: first + index,
      command: (program, args) => [program, ...args],
    })),
    cut: undefined,
    missing,
    [Symbol.dispose]: () => {},
  };
}

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}

function tolerant(words: readonly string[]): void {
  try {
    ip(...words);
  } catch {
    // It is gone, or never was.
  }
}
