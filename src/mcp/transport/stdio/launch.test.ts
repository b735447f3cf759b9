// What is started: the environment, the place, the command as each system runs it, and words for what cannot be started.
import { describe, expect, test } from "vitest";
import { fakeWorld } from "../../../testing/index.js";
import type { StdioSpec } from "../../spec.js";
import { explainExit, launchOf } from "./launch.js";

function spec(given: Partial<StdioSpec> = {}): StdioSpec {
  return { kind: "stdio", name: "s", command: "server", args: ["a b"], env: {}, ...given };
}

describe("the environment", () => {
  test("holds the allow-list and what the entry names, and no secret of the host", () => {
    const world = fakeWorld({
      env: { PATH: "/bin", HOME: "/h", OPENAI_API_KEY: "k", LD_PRELOAD: "x", NODE_OPTIONS: "y", SHELL: "() { :; }" },
    });
    expect(launchOf(spec({ env: { TOKEN: "t", HOME: "/other" } }), "/s", world).env).toEqual({
      PATH: "/bin",
      HOME: "/other",
      TOKEN: "t",
    });
  });

  test("names the certificates this machine trusts, but none that lie in the session's directory by a relative path", () => {
    const certificates = {
      NODE_EXTRA_CA_CERTS: "/etc/corp.pem",
      SSL_CERT_FILE: "/etc/all.pem",
      SSL_CERT_DIR: "/etc/certs:/opt/certs",
      REQUESTS_CA_BUNDLE: "/etc/python.pem",
      CURL_CA_BUNDLE: "/etc/curl.pem",
    };
    const launched = (env: Record<string, string>, own = {}) =>
      launchOf(spec({ env: own }), "/s", fakeWorld({ env })).env;
    expect(launched(certificates)).toEqual(certificates);
    expect(launched({ SSL_CERT_FILE: "ca.pem", CURL_CA_BUNDLE: "", SSL_CERT_DIR: "/etc/certs:certs" })).toEqual({});
    expect(launched({ SSL_CERT_FILE: "/etc/all.pem" }, { SSL_CERT_FILE: "own.pem" })).toEqual({
      SSL_CERT_FILE: "own.pem",
    });
  });

  test("ignores the case of names on Windows, and has each variable once", () => {
    const world = fakeWorld({ platform: "win32", env: { Path: "C:\\bin", SystemRoot: "C:\\W", SECRET: "x" } });
    expect(launchOf(spec({ env: { PATH: "D:\\bin" } }), "C:\\s", world).env).toEqual({
      SystemRoot: "C:\\W",
      PATH: "D:\\bin",
    });
  });
});

describe("the place", () => {
  const world = fakeWorld();

  test("is the session's directory, or the entry's own, relative to that", () => {
    expect(launchOf(spec(), "/s", world).cwd).toBe("/s");
    expect(launchOf(spec({ cwd: "sub" }), "/s", world).cwd).toBe("/s/sub");
    expect(launchOf(spec({ cwd: "/abs" }), "/s", world).cwd).toBe("/abs");
  });

  test.each([
    ["server", "server"],
    ["/opt/server", "/opt/server"],
    ["./server", "/s/server"],
    ["bin/server", "/s/bin/server"],
  ])("a command %s is %s: bare names are looked up, paths belong to the session", (command, expected) => {
    expect(launchOf(spec({ command, cwd: "/elsewhere" }), "/s", world).command).toBe(expected);
  });
});

describe("what could not be started", () => {
  const request = { command: "server", args: [], env: { PATH: "/a:/b" }, cwd: "/s" };
  const failed = (code: string) => ({
    kind: "not_started" as const,
    error: Object.assign(new Error(`spawn ${code}`), { code }),
  });
  const explain = (exit: Parameters<typeof explainExit>[0], given: Partial<typeof request> = {}, files = {}) =>
    explainExit(exit, {
      request: { ...request, ...given },
      world: fakeWorld({ files, folders: ["/s"] }),
      stderrTail: "",
    });

  test("names the PATH it was looked for in", () => {
    expect(explain(failed("ENOENT"))).toMatchObject({
      code: "mcp.spawn_failed",
      message: 'cannot start "server": not found in PATH (/a:/b)',
    });
    expect(explain(failed("ENOENT"), { env: { PATH: "" } }).message).toContain("PATH ()");
  });

  test("tells a missing file from a missing interpreter and from a missing directory", () => {
    expect(explain(failed("ENOENT"), { command: "/x/y" }).message).toContain("no such file");
    expect(explain(failed("ENOENT"), { command: "/x/y" }, { "/x/y": "#!" }).message).toContain("interpreter");
    expect(explain(failed("ENOENT"), { cwd: "/x/y" }, { "/x/y": "a file" }).message).toContain("directory /x/y");
  });

  test("says what is wrong with one that is there", () => {
    expect(explain(failed("EACCES"), { command: "/x" }).message).toContain("not executable");
    expect(explain(failed("E2BIG")).message).toContain("spawn E2BIG");
  });
});

describe("what ended", () => {
  const facts = { request: { command: "s", args: [], env: {}, cwd: "/" }, world: fakeWorld(), stderrTail: "boom" };

  test("is told by code or signal, with the end of its stderr", () => {
    const { message, code } = explainExit({ kind: "exited", code: 2, signal: null }, facts);
    expect([code, message]).toEqual(["mcp.connect_failed", "the server exited with code 2; its stderr ends: boom"]);
    expect(explainExit({ kind: "exited", code: null, signal: "SIGSEGV" }, facts).message).toContain("SIGSEGV");
    expect(explainExit(undefined, { ...facts, stderrTail: "" }).message).toBe(
      "the server closed its end of the pipe and runs on",
    );
  });
});

describe("the end of a server in a sandbox", () => {
  const request = { command: "/usr/bin/bwrap", args: [], env: {}, cwd: "/", isKeeper: true };
  const world = fakeWorld();
  const explained = (code: number, stderrTail: string) =>
    explainExit({ kind: "exited", code, signal: null }, { request, world, stderrTail });

  test("is the sandbox's own when bubblewrap says so before anything ran", () => {
    expect(explained(1, "bwrap: Can't mkdir /x: Read-only file system")).toMatchObject({
      code: "mcp.sandbox_unavailable",
      message: "not started: its sandbox failed: bwrap: Can't mkdir /x: Read-only file system",
    });
  });

  test("is the server's otherwise, with a hint at what it may lack", () => {
    for (const said of ["Error: ENOENT", "so said bwrap: x", ""]) {
      const error = explained(1, said);
      expect(error.code).toBe("mcp.connect_failed");
      expect(error.hint).toContain("sandbox.read");
    }
    expect(explained(0, "bwrap: a name").code).toBe("mcp.connect_failed");
  });
});
