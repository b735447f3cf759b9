// What is started for a server in a sandbox: everything it was granted is in, everything else is out, or nothing is started.
import { describe, expect, it } from "vitest";
import { SANDBOX_LIMITS } from "../../../base/limits.js";
import { FakeChild, type FakeWorld, fakeWorld } from "../../../testing/index.js";
import type { SandboxSpec, StdioSpec } from "../../spec.js";
import { launchOf } from "../stdio/launch.js";
import { sandboxedLaunch } from "./sandboxed-launch.js";

const HOME = "/home/ada";
const PROJECT = `${HOME}/project`;
const SERVER = "/srv/server/index.js";

function machine(further: Readonly<Record<string, string>> = {}): FakeWorld {
  const env = { HOME, PATH: "/usr/bin", TOKEN: "secret", XDG_RUNTIME_DIR: "/run/user/1", TMPDIR: "/var/folders/x" };
  const world = fakeWorld({
    env: { ...env, ...further },
    files: { [`${PROJECT}/a.txt`]: "", [SERVER]: "", [`${HOME}/.ssh/id`]: "", [`${HOME}/data/x`]: "" },
    spawn: (request) => {
      const child = new FakeChild(request);
      setImmediate(() => child.exit(0));
      return child;
    },
  });
  for (const program of ["bwrap", "node", "npx"]) world.files.write(`/usr/bin/${program}`, "ELF", 0o755);
  world.files.link("/bin", "usr/bin");
  return world;
}

async function launched(
  sandbox: Partial<SandboxSpec>,
  extra: Partial<StdioSpec> = {},
  world = machine(),
  cwd = PROJECT,
) {
  const spec: StdioSpec = { kind: "stdio", name: "s", command: "node", args: [SERVER], env: { OWN: "1" }, ...extra };
  const full: SandboxSpec = { mode: "workspace", network: false, ...sandbox };
  return await sandboxedLaunch({
    spec,
    sandbox: full,
    request: launchOf(spec, cwd, world),
    sessionCwd: cwd,
    world,
    signal: new AbortController().signal,
  });
}

/** What is put where, by the path inside. */
function mounts(args: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [at, word] of args.entries()) {
    if (word === "--tmpfs") found[args[at + 1] ?? ""] = "empty";
    if (word === "--ro-bind") found[args[at + 2] ?? ""] = `read ${args[at + 1]}`;
    if (word === "--bind") found[args[at + 2] ?? ""] = `write ${args[at + 1]}`;
    if (word === "--symlink") found[args[at + 2] ?? ""] = `link ${args[at + 1]}`;
  }
  return found;
}

describe("a sandboxed launch", () => {
  it("puts the project into an empty home, and the program where it lies", async () => {
    const { command, args, cwd, isKeeper } = await launched({});
    expect({ command, cwd, isKeeper }).toEqual({ command: "/usr/bin/bwrap", cwd: "/", isKeeper: true });
    expect(mounts(args)).toMatchObject({
      [HOME]: "empty",
      "/tmp": "empty",
      [PROJECT]: `write ${PROJECT}`,
      "/srv/server": "read /srv/server",
      "/bin": "link usr/bin",
    });
    expect(args.slice(-5)).toEqual(["--chdir", PROJECT, "--", "/usr/bin/node", SERVER]);
    expect(args.join(" ")).not.toContain(".ssh");
    expect(mounts((await launched({ mode: "read-only" })).args)[PROJECT]).toBe(`read ${PROJECT}`);
  });

  it("gives it the environment of any server, with its own home, and the loader's variables inside only", async () => {
    const { env, args } = await launched({}, { env: { OWN: "s3cret", LD_PRELOAD: "/x.so", XDG_DATA_HOME: "/d" } });
    expect(env).toEqual({ PATH: "/usr/bin", HOME, OWN: "s3cret", TMPDIR: "/tmp", XDG_DATA_HOME: "/d" });
    expect(args.join(" ")).toContain("--setenv LD_PRELOAD /x.so");
    expect(args.join(" ")).not.toContain("s3cret");
  });

  it("shows the certificates the person's environment names, and names none that cannot be seen", async () => {
    const files = { NODE_EXTRA_CA_CERTS: `${HOME}/certs/ca.pem`, CURL_CA_BUNDLE: "/etc/ssl/certs/all.pem" };
    const world = machine({ ...files, SSL_CERT_DIR: `/srv/certs:${HOME}`, REQUESTS_CA_BUNDLE: "/srv/none.pem" });
    for (const path of [`${HOME}/certs/ca.pem`, "/srv/certs/a"]) world.files.write(path, "");
    const { env, args } = await launched({}, { env: { SSL_CERT_FILE: `${HOME}/.ssh/id` } }, world);
    expect(env).toEqual({ PATH: "/usr/bin", HOME, TMPDIR: "/tmp", ...files, SSL_CERT_FILE: `${HOME}/.ssh/id` });
    expect(mounts(args)).toMatchObject({
      [files.NODE_EXTRA_CA_CERTS]: `read ${files.NODE_EXTRA_CA_CERTS}`,
      [HOME]: "empty",
    });
    expect(args.join(" ")).not.toContain(".ssh");
    const other = machine(files);
    other.files.write(files.NODE_EXTRA_CA_CERTS, "");
    await launched({ cacheDir: "/cache" }, { command: "npx", args: ["-y", "x"], env: {} }, other);
    const download = other.children.at(-1)?.request;
    expect(download?.env).toMatchObject(files);
    expect(mounts(download?.args ?? [])).toHaveProperty([files.NODE_EXTRA_CA_CERTS]);
  });

  it("shows further directories, what is granted and the entry's own directory, and hides Tenon's folders in them", async () => {
    const world = machine();
    world.files.write("/more/x", "");
    world.files.write("/srv/place/x", "");
    world.files.write(`${HOME}/data/tenon/config.json`, "");
    const grants = {
      directories: ["/more"],
      read: ["~/data", "/none"],
      write: ["../other"],
      hidden: [`${HOME}/data/tenon`],
    };
    world.files.write(`${HOME}/other/x`, "");
    const { args } = await launched(grants, { cwd: "/srv/place" }, world);
    expect(mounts(args)).toMatchObject({
      "/more": "write /more",
      [`${HOME}/data`]: `read ${HOME}/data`,
      [`${HOME}/data/tenon`]: "empty",
      [`${HOME}/other`]: `write ${HOME}/other`,
      "/srv/place": "read /srv/place",
    });
    expect(world.logLines.join()).toContain('"path":"/none"');
  });

  it("makes nothing visible that an entry not to be trusted with that names, but its program", async () => {
    const world = machine();
    world.files.write("/srv/tool/bin/run", "ELF", 0o755);
    const args = ["-e", "code", `${HOME}/.ssh/id`, `${PROJECT}/a.txt`];
    const extra = { command: "/srv/tool/bin/run", args };
    expect(mounts((await launched({}, extra, world)).args)[`${HOME}/.ssh/id`]).toBeDefined();
    const confined = mounts((await launched({ isConfined: true }, extra, world)).args);
    expect(confined[`${HOME}/.ssh/id`]).toBeUndefined();
    expect(confined["/srv/tool"]).toBe("read /srv/tool");
  });

  it("keeps git's repositories as they are, at any level, only where the project is written", async () => {
    const world = machine();
    const git = `${PROJECT}/.git`;
    for (const path of [".git/config", "lib/sub/.git/config", "bare/HEAD", "bare/objects/x", "bare/refs/x"]) {
      world.files.write(`${PROJECT}/${path}`, "");
    }
    world.files.write(`${PROJECT}/tree/.git`, "gitdir: ../store/one\n");
    world.files.write(`${PROJECT}/store/one/config`, "");
    const written = mounts((await launched({}, {}, world)).args);
    const guarded = [git, `${PROJECT}/lib/sub/.git`, `${PROJECT}/bare`, `${PROJECT}/tree/.git`, `${PROJECT}/store/one`];
    expect(guarded.map((path) => written[path])).toEqual(guarded.map((path) => `read ${path}`));
    const held = [`${PROJECT}/lib`, `${PROJECT}/lib/sub`, `${PROJECT}/tree`]; // cannot be renamed
    expect(held.map((path) => written[path])).toEqual(held.map((path) => `write ${path}`));
    expect(mounts((await launched({ mode: "read-only" }, {}, world)).args)[git]).toBeUndefined();
  });

  it("keeps the place of a missing repository, and leaves what names programs in one that may be written", async () => {
    const git = `${PROJECT}/.git`;
    const none = await launched({}, {}, machine());
    expect([mounts(none.args)[git], none.madeFolders]).toEqual(["empty", [git]]);
    const granted = machine();
    granted.files.write(`${git}/config`, "");
    const written = mounts((await launched({ write: [".git"] }, {}, granted)).args);
    expect([written[git], written[`${git}/config`], written[`${git}/hooks`]]).toEqual([
      `write ${git}`,
      `read ${git}/config`,
      "empty",
    ]);
    const worktree = machine();
    worktree.files.write(git, "gitdir: /elsewhere/.git/worktrees/one");
    expect(mounts((await launched({}, {}, worktree)).args)[git]).toBe(`read ${git}`);
  });

  it("lets nothing around the project be written when that is a repository itself, by objects and refs or by commondir", async () => {
    for (const parts of [
      ["HEAD", "objects/x", "refs/x", "config"],
      ["HEAD", "commondir"],
    ]) {
      const world = machine();
      for (const part of parts) world.files.write(`${PROJECT}/${part}`, "");
      const found = mounts((await launched({}, {}, world)).args);
      const written = Object.keys(found).filter((path) => found[path]?.startsWith("write"));
      expect(written).toEqual([PROJECT]);
      const guarded = parts.map((part) => `${PROJECT}/${part.split("/")[0]}`);
      expect(guarded.map((path) => found[path])).toEqual(guarded.map((path) => `read ${path}`));
    }
  });

  it("writes nothing in what it keeps read-only, and guards every spelling of .git", async () => {
    const world = machine();
    for (const path of ["bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/in/.git/config"]) {
      world.files.write(`${PROJECT}/${path}`, "");
    }
    for (const path of ["sub/.GIT/config", "sub/.git/config"]) world.files.write(`${PROJECT}/${path}`, "");
    const found = mounts((await launched({}, {}, world)).args);
    const written = Object.keys(found).filter((path) => found[path]?.startsWith("write"));
    expect(written.sort()).toEqual([PROJECT, `${PROJECT}/sub`]);
    const both = [`${PROJECT}/sub/.GIT`, `${PROJECT}/sub/.git`];
    expect(both.map((path) => found[path])).toEqual(both.map((path) => `read ${path}`));
  });

  it("is refused where .git is a link at the top; below, the folder around the link is read-only", async () => {
    const world = machine();
    world.files.write(`${HOME}/gits/p/HEAD`, "");
    world.files.write(`${PROJECT}/lib/sub/x`, "");
    world.files.link(`${PROJECT}/lib/sub/.git`, `${HOME}/gits/p`);
    const found = mounts((await launched({}, {}, world)).args);
    expect([found[`${PROJECT}/lib`], found[`${PROJECT}/lib/sub`]]).toEqual([
      `write ${PROJECT}/lib`,
      `read ${PROJECT}/lib/sub`,
    ]);
    world.files.link(`${PROJECT}/.git`, `${HOME}/gits/p`);
    await expect(launched({}, {}, world)).rejects.toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: expect.stringContaining(`${PROJECT}/.git is a link`),
    });
  });

  it("keeps guarding what its first search found, whatever was put before it since", async () => {
    const world = machine();
    const git = `${PROJECT}/z/z/.git`;
    world.files.write(`${git}/config`, "");
    expect(mounts((await launched({}, {}, world)).args)[git]).toBe(`read ${git}`);
    const many = Array.from({ length: SANDBOX_LIMITS.git.maxFolders }, (_, at) => `${PROJECT}/a${at}/x`);
    for (const path of many) world.files.write(path, "");
    expect(mounts((await launched({}, {}, world)).args)[git]).toBe(`read ${git}`);
  });

  it.each([HOME, "/home", "/", "/tmp", "/tenon"])("is refused where the session's directory is %s", async (cwd) => {
    const world = machine();
    world.files.write("/tenon/config.json", "");
    world.files.write("/tmp/x", "");
    await expect(launched({ hidden: ["/tenon"] }, {}, world, cwd)).rejects.toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: expect.stringContaining("would be none"),
    });
  });

  it.each([
    [{ read: ["/"] }, {}, "is everything"],
    [{ write: ["out"] }, {}, "is a link that leads out of the session's directory"],
    [{}, { cwd: HOME.slice(0, 5) }, "holds places a sandbox is there to hide"],
    [{ isConfined: true }, { cwd: "/srv/server" }, "is not one of the session's"],
    [{}, { command: "npx", args: ["-y", "x"] }, "npx downloads what it runs"],
    [{}, { command: "docker" }, "outside of any sandbox"],
  ])("is refused for %j and %j", async (sandbox, extra, words) => {
    const world = machine();
    world.files.link(`${PROJECT}/out`, `${HOME}/.ssh`);
    await expect(launched(sandbox, extra, world)).rejects.toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: expect.stringContaining(words),
    });
  });

  it("says of what does not exist what it would say without a sandbox", async () => {
    const failed = { code: "mcp.spawn_failed" };
    await expect(launched({}, { command: "nobody" })).rejects.toMatchObject(failed);
    await expect(launched({}, { cwd: SERVER })).rejects.toMatchObject({ ...failed, hint: "Correct its cwd." });
  });

  it("gives what downloads its server a home of its own that lasts, by command and arguments", async () => {
    const sandbox = { network: true, cacheDir: "/cache" };
    const homeOf = async (args: readonly string[]) =>
      mounts((await launched(sandbox, { command: "npx", args })).args)[HOME];
    const one = await homeOf(["-y", "one"]);
    expect(one).toMatch(/^write \/cache\/[0-9a-f]{32}$/u);
    expect(await homeOf(["-y", "one"])).toBe(one);
    expect(await homeOf(["-y", "two"])).not.toBe(one);
    expect(mounts((await launched(sandbox)).args)[HOME]).toBe("empty");
  });

  it("downloads what npx runs before it runs without network, once, with nothing of the server's but where packages come from", async () => {
    const world = machine();
    const env = { TOKEN_OF_SERVER: "s3cret", npm_config_registry: "https://r.test" };
    const extra = { command: "npx", args: ["-y", "@scope/server@1"], env };
    const run = await launched({ cacheDir: "/cache" }, extra, world);
    expect(run.env).toMatchObject({ ...env, npm_config_offline: "true" });
    expect(run.args).toContain("--unshare-net");
    const [, fetch, ...more] = world.children.map(({ request }) => request); // the first tries bubblewrap out
    expect(more).toEqual([]);
    expect(fetch?.args).not.toContain("--unshare-net");
    expect(fetch?.args.slice(-6)).toEqual([
      "--",
      "/usr/bin/npx",
      "--yes",
      "--package=@scope/server@1",
      "--call",
      "true",
    ]);
    expect(fetch?.env).toEqual({ PATH: "/usr/bin", HOME, npm_config_registry: "https://r.test" });
    const seen = mounts(fetch?.args ?? []);
    expect(seen[PROJECT]).toBeUndefined();
    expect(seen[HOME]).toBe(mounts(run.args)[HOME]);
    expect(seen[HOME]).toMatch(/^write \/cache\//u);
    await launched({ cacheDir: "/cache" }, extra, world);
    expect(world.children).toHaveLength(2);
    for (const path of world.files.paths.filter((one) => one.endsWith("/.tenon"))) await world.files.remove(path);
    await launched({ cacheDir: "/cache" }, extra, world);
    expect(world.children).toHaveLength(3);
  });

  it("leaves nothing of a download that nobody waits for any more", async () => {
    const stuck = fakeWorld({
      env: { HOME, PATH: "/usr/bin" },
      files: { [`${PROJECT}/a.txt`]: "" },
      spawn: (request) => {
        const isFetch = request.args.includes("--yes");
        const child = new FakeChild(request, { ignoresEof: isFetch });
        if (isFetch) setImmediate(() => controller.abort(new Error("given up")));
        else setImmediate(() => child.exit(0));
        return child;
      },
    });
    const controller = new AbortController();
    for (const program of ["bwrap", "npx"]) stuck.files.write(`/usr/bin/${program}`, "ELF", 0o755);
    const spec: StdioSpec = { kind: "stdio", name: "s", command: "npx", args: ["-y", "server"], env: {} };
    const sandbox: SandboxSpec = { mode: "workspace", network: false, cacheDir: "/cache" };
    const request = launchOf(spec, PROJECT, stuck);
    const { signal } = controller;
    const given = sandboxedLaunch({ spec, sandbox, request, sessionCwd: PROJECT, world: stuck, signal });
    const outcome = given.catch((error: unknown) => error);
    await stuck.advance(10_000);
    expect(await outcome).toMatchObject({ message: "given up" });
    expect(stuck.children.every((child) => !child.isGroupAlive() && child.isReleased)).toBe(true);
  });

  it("says why when the download fails, and tries again the next time", async () => {
    let code = 0;
    const world = fakeWorld({
      env: { HOME, PATH: "/usr/bin" },
      files: { [`${PROJECT}/a.txt`]: "" },
      spawn: (request) => {
        const child = new FakeChild(request, { ignoresEof: true });
        const isFetch = request.args.includes("--yes");
        setImmediate(() => {
          if (isFetch) child.stderr.write("npm error code E404");
          child.exit(isFetch ? code : 0);
        });
        return child;
      },
    });
    for (const program of ["bwrap", "npx"]) world.files.write(`/usr/bin/${program}`, "ELF", 0o755);
    code = 1;
    const extra = { command: "npx", args: ["-y", "server"] };
    await expect(launched({ cacheDir: "/cache" }, extra, world)).rejects.toMatchObject({
      code: "mcp.spawn_failed",
      message: expect.stringContaining("npm error code E404"),
    });
    code = 0;
    expect(await launched({ cacheDir: "/cache" }, extra, world)).toMatchObject({ isKeeper: true });
  });

  it("lets npx of a project's own server run what is installed in the project without network, and no other", async () => {
    const world = machine();
    world.files.write(`${PROJECT}/node_modules/.bin/server`, "", 0o755);
    const npx = { command: "npx", args: ["-y", "@scope/server@1"] };
    const { args } = await launched({}, { ...npx, approved: { by: "project", files: [] } }, world);
    expect(mounts(args)[HOME]).toBe("empty");
    await expect(launched({}, npx, world)).rejects.toMatchObject({ code: "mcp.sandbox_unavailable" });
  });
});
