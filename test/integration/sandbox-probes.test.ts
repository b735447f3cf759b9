// What a server tries from inside its sandbox, and what comes of it: everything that was not granted is stopped.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { CANARY, SandboxedProbe } from "../scenarios/sandboxed-probe.js";
import { scenario } from "../scenarios/scenario.js";

const needs = { needs: ["bwrap"], platform: "linux" } as const;
const WORKSPACE = { mode: "workspace", network: false } as const;
const READ_ONLY = { mode: "read-only", network: false } as const;

const STOPPED = /^failed: (?:EROFS|ENOENT|EACCES|EPERM|EBUSY|ENODEV|ESRCH)$/u;

scenario(
  ["X1"],
  "a server in the workspace sandbox writes in the session's directory and nowhere else",
  async () => {
    await using probe = await SandboxedProbe.start(WORKSPACE);
    expect(await probe.write(join(probe.project, "made.txt"))).toBe('"written"');
    expect(readFileSync(join(probe.project, "made.txt"), "utf8")).toBe("x");
    const outside = [
      join(probe.elsewhere, "server/probe-server.mjs"), // its own program
      "/made.txt",
      "/usr/made.txt",
      "/etc/made.txt",
      "/etc/passwd",
      "/proc/sys/kernel/core_pattern",
      "/var/made.txt",
      join(probe.project, ".git/hooks/pre-commit"),
      join(probe.project, ".git/config"),
      ...["config.worktree", "commondir", "info/attributes", "HEAD", "index", "modules/x/config"].map((name) =>
        join(probe.project, ".git", name),
      ),
    ];
    for (const path of outside) expect(await probe.write(path), path).toMatch(STOPPED);
    const move = `const fs = await load("node:fs"); fs.renameSync(${JSON.stringify(join(probe.project, ".git"))}, ${JSON.stringify(join(probe.project, "git"))});`;
    expect(await probe.run(move)).toMatch(STOPPED);

    // A home and a /tmp of its own, in which the folder beside the project lies: written, and not there outside.
    expect(await probe.write(join(probe.elsewhere, "made.txt"))).toBe('"written"');
    expect(await probe.write(join(probe.home, "made.txt"))).toBe('"written"');
    expect(await probe.write("/tmp/made-by-the-probe.txt")).toBe('"written"');
    expect(existsSync(join(probe.home, "made.txt"))).toBe(false);
    expect(existsSync("/tmp/made-by-the-probe.txt")).toBe(false);
    expect(readdirSync(probe.elsewhere).sort()).toEqual(["note.txt", "server"]);
    expect(readFileSync(join(probe.project, ".git/config"), "utf8")).toBe("[core]\n");
    expect(readdirSync(join(probe.project, ".git/hooks"))).toEqual([]);
  },
  needs,
);

scenario(
  ["X1"],
  "read-only writes nowhere, grants are what they say, and links lead nowhere else",
  async () => {
    {
      await using probe = await SandboxedProbe.start(READ_ONLY);
      expect(await probe.read(join(probe.project, "note.txt"))).toContain("in the project");
      expect(await probe.write(join(probe.project, "made.txt"))).toBe("failed: EROFS");
    }
    await using probe = await SandboxedProbe.start({ ...WORKSPACE, read: ["../elsewhere/note.txt"] });
    expect(await probe.read(join(probe.elsewhere, "note.txt"))).toContain(CANARY);
    expect(await probe.write(join(probe.elsewhere, "note.txt"))).toMatch(STOPPED);
    symlinkSync(join(probe.home, ".ssh"), join(probe.project, "link"));
    expect(await probe.read(join(probe.project, "link/id"))).toMatch(STOPPED);
    await using writer = await SandboxedProbe.start({ ...READ_ONLY, write: ["../elsewhere"] });
    expect(await writer.write(join(writer.elsewhere, "made.txt"))).toBe('"written"');
    expect(await writer.write(join(writer.project, "made.txt"))).toBe("failed: EROFS");
    expect(readdirSync(writer.elsewhere)).toContain("made.txt");
  },
  needs,
);

const CONNECT = (to: string) => `
  const net = await load("node:net");
  return await new Promise((resolve, reject) => {
    const socket = net.connect(${to}, () => { socket.destroy(); resolve("connected"); });
    socket.on("error", reject);
  });`;

const SEND = (port: number) => `
  const dgram = await load("node:dgram");
  const socket = dgram.createSocket("udp4");
  await new Promise((resolve, reject) => socket.send("hello", ${port}, "127.0.0.1", (error) => error ? reject(error) : resolve()));
  socket.close();
  return "sent";`;

async function listening(server: Server, to: number | string): Promise<number> {
  server.on("connection", (socket) => socket.destroy());
  if (typeof to === "number") server.listen(to, "127.0.0.1");
  else server.listen(to);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

scenario(
  ["X2"],
  "without the grant nothing is reached, not even this machine; with it, it is",
  async () => {
    const tcp = createServer();
    const abstract = createServer();
    const udp = createSocket("udp4");
    const heard: string[] = [];
    udp.on("message", (message) => heard.push(message.toString()));
    udp.bind(0, "127.0.0.1");
    await once(udp, "listening");
    const port = await listening(tcp, 0);
    const name = `\0tenon-probe-${process.pid}`;
    await listening(abstract, name);
    const abstractly = CONNECT(`{ path: ${JSON.stringify(name)} }`);
    try {
      await using probe = await SandboxedProbe.start(WORKSPACE);
      expect(await probe.run(CONNECT(`{ port: ${port}, host: "127.0.0.1" }`))).toBe("failed: ECONNREFUSED");
      expect(await probe.run(CONNECT('{ port: 443, host: "192.0.2.1" }'))).toBe("failed: ENETUNREACH");
      expect(await probe.run(abstractly)).toMatch(/^failed: (?:ECONNREFUSED|ENOENT)$/u);
      await probe.run(SEND(port)); // into its own empty network, whatever comes of it there
      await probe.run(SEND(udp.address().port));
      const lookup = 'const dns = await load("node:dns/promises"); return await dns.resolve("example.com");';
      expect(await probe.run(lookup)).toMatch(/^failed: /u);
      const interfaces = await probe.run(
        'const os = await load("node:os"); return Object.keys(os.networkInterfaces());',
      );
      expect(JSON.parse(interfaces)).toEqual(["lo"]);
      expect(heard).toEqual([]);

      await using granted = await SandboxedProbe.start({ ...WORKSPACE, network: true });
      expect(await granted.run(CONNECT(`{ port: ${port}, host: "127.0.0.1" }`))).toBe('"connected"');
      expect(await granted.run(SEND(udp.address().port))).toBe('"sent"');
      await expect.poll(() => heard).toEqual(["hello"]);
    } finally {
      await Promise.all([tcp, abstract].map((server) => new Promise((resolve) => server.close(resolve))));
      await new Promise<void>((resolve) => udp.close(resolve));
    }
  },
  needs,
);

scenario(
  ["X3"],
  "neither the home nor the environment of the host is seen",
  async () => {
    await using probe = await SandboxedProbe.start({ ...WORKSPACE, network: true });
    for (const path of [
      join(probe.home, ".ssh/id"),
      join(probe.elsewhere, "note.txt"),
      "/etc/shadow",
      "/root/.bashrc",
    ]) {
      expect(await probe.read(path), path).toMatch(STOPPED);
    }
    const list = (path: string) =>
      probe.run(`const fs = await load("node:fs"); return fs.readdirSync(${JSON.stringify(path)});`);
    expect(JSON.parse(await list(probe.home))).toEqual([]);
    for (const path of ["/run", "/var/run", "/sys", "/boot", "/mnt", "/srv", "/home"]) {
      expect(await list(path), path).toMatch(/^(?:failed: ENOENT|\[\])$/u);
    }
    const env: Record<string, string> = JSON.parse(await probe.run("return process.env;"));
    expect(env).toMatchObject({ OWN: "its own", HOME: probe.home });
    expect(JSON.stringify(env)).not.toContain(CANARY);
    expect(Object.keys(env)).not.toContain("XDG_RUNTIME_DIR");
    expect(
      await probe.run(`const fs = await load("node:fs");
      return fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).map((pid) => {
        try { return fs.readFileSync("/proc/" + pid + "/environ", "latin1"); } catch { return ""; }
      });`),
    ).not.toContain(CANARY);
  },
  needs,
);

scenario(
  ["X3"],
  "variables of the loader reach the server and not what holds it, and no value stands in a command line",
  async () => {
    const env = { LD_LIBRARY_PATH: "/nowhere", SECRET: CANARY };
    await using probe = await SandboxedProbe.start(WORKSPACE, { env });
    expect(JSON.parse(await probe.run("return process.env;"))).toMatchObject(env);
    const lines = readdirSync("/proc").flatMap((entry) => {
      try {
        return /^\d+$/u.test(entry) ? [readFileSync(`/proc/${entry}/cmdline`, "latin1")] : [];
      } catch {
        return [];
      }
    });
    const holders = lines.filter((line) => line.includes("bwrap") && line.includes(probe.project));
    expect(holders.length).toBeGreaterThan(0);
    expect(holders.join()).not.toContain(CANARY);
  },
  needs,
);

scenario(
  ["X4"],
  "no process but its own is seen or signalled, and there is no power to gain",
  async () => {
    await using probe = await SandboxedProbe.start({ ...WORKSPACE, network: true });
    const kill = (pid: number) => probe.run(`process.kill(${pid}, 0); return "reached";`);
    expect(await kill(process.pid)).toBe("failed: ESRCH");
    expect(await kill(process.ppid)).toBe("failed: ESRCH");
    const pids =
      'const fs = await load("node:fs"); return fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).length;';
    expect(Number(await probe.run(pids))).toBeLessThanOrEqual(3);
    const status = await probe.read("/proc/self/status");
    expect(status).toContain("CapEff:\\t0000000000000000");
    expect(status).toContain("CapBnd:\\t0000000000000000");
    expect(status).toContain("NoNewPrivs:\\t1");
    const spawned = (words: readonly string[]) =>
      probe.run(`const { spawnSync } = await load("node:child_process");
        const [command, ...args] = ${JSON.stringify(words)};
        const done = spawnSync(command, args); return done.status;`);
    expect(await spawned(["/bin/sh", "-c", "exit 7"])).toBe("7"); // programs run, as far as they may
    expect(await spawned(["unshare", "--user", "true"])).not.toBe("0");
    expect(await spawned(["mount", "-t", "tmpfs", "none", probe.project])).not.toBe("0");
    expect(await spawned(["chroot", probe.project, "true"])).not.toBe("0");
  },
  needs,
);
