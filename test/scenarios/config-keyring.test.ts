// Secrets in the system's keyring: put there by the person, handed to the server that wants them, shown to nobody.
// Where there is a keyring of the person who runs the tests (macOS, Windows), it is left alone.
import { createHash } from "node:crypto";
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { LIMITS } from "../../src/base/limits.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";
import { SECRET_SERVICE, SecretService } from "./secret-service.js";

/** Says on its stderr what it was given, and a hash of it, and ends: the session then shows it, without the secret. */
const SHOWS = `const { TOKEN } = process.env;
const hash = require("node:crypto").createHash("sha256").update(TOKEN).digest("hex").slice(0, 12);
process.stderr.write("given <" + TOKEN + "> " + hash + "\\n");
process.exit(7);`;
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);
const entry = (name: string) => ({ command: process.execPath, args: ["-e", SHOWS], env: { TOKEN: `keyring:${name}` } });

scenario(
  ["G12", "G3"],
  "a secret in the real keyring reaches the server that names it, and nothing shows it",
  async () => {
    await using service = await SecretService.start();
    await using bench = await ConfigBench.open();
    const { env } = service;
    bench.put(
      "home/config.json",
      bench.servers({ shows: entry("github"), lacks: bench.canary({ env: { X: "keyring:other" } }) }),
    );
    const before = await bench.headless("greet me", env);
    expect(before.stderr).toContain('the keyring has no entry "github": tenon secret set github puts it there');

    const set = await bench.tenonWith("s3cret-välue\n", ["secret", "set", "github"], env);
    expect(set).toEqual({ code: 0, stdout: 'github is in the keyring: "keyring:github" stands for it\n', stderr: "" });
    const check = await bench.tenon(["secret", "check", "github", "--json"], env);
    expect(JSON.parse(check.stdout)).toEqual({ name: "github", isThere: true });
    const { stderr } = await bench.headless("greet me", env);
    expect(stderr).toContain(`given <[redacted]> ${hashOf("s3cret-välue")}`);
    expect(stderr).toContain('the keyring has no entry "other"');
    expect(bench.deeds).toEqual([]);
    const shown: readonly (readonly [readonly string[], string])[] = [
      [["list", "--no-connect"], "configured"],
      [["get", "shows"], "ready"],
      [["list", "--json"], "ready"],
      [["list"], "given <[redacted]>"],
      [["test", "shows"], "given <[redacted]>"],
      [["logs", "shows"], "given <[redacted]>"],
    ];
    for (const [words, said] of shown) {
      const { stdout } = await bench.tenon(["mcp", ...words], env);
      expect(stdout).not.toContain("s3cret");
      expect(stdout).toContain(said);
    }

    await bench.tenonWith("another", ["secret", "set", "github"], env);
    expect((await bench.headless("greet me", env)).stderr).toContain(hashOf("another"));
    expect((await bench.tenon(["secret", "remove", "github"], env)).code).toBe(0);
    expect((await bench.tenon(["secret", "remove", "github"], env)).code).toBe(3);
    expect((await bench.headless("greet me", env)).stderr).toContain('the keyring has no entry "github"');
  },
  { needs: SECRET_SERVICE, platform: "linux" },
);

scenario(
  ["G12"],
  "a keyring that is locked, with nobody to unlock it, disables the server with the reason, and the others work",
  async () => {
    await using service = await SecretService.start();
    await using bench = await ConfigBench.open();
    const { env } = service;
    expect((await bench.tenonWith("s3cret", ["secret", "set", "github"], env)).code).toBe(0);
    await service.lock();
    bench.put("home/config.json", bench.servers({ shows: entry("github"), greeter: bench.greeter() }));
    const { stdout, stderr } = await bench.headless("greet me", env);
    expect(stdout).toContain("good morning");
    expect(stderr).toContain("the keyring failed: the keyring refused: ");
    expect(stderr).toContain("Unlock it");
    expect((await bench.tenon(["secret", "check", "github"], env)).code).toBe(3);
  },
  { needs: SECRET_SERVICE, platform: "linux" },
);

scenario(
  ["G12"],
  "a keyring that does not answer holds up neither the other servers nor the exit",
  async () => {
    await using service = await SecretService.start();
    await using bench = await ConfigBench.open();
    const { env } = service;
    service.freeze();
    bench.put("home/config.json", bench.servers({ shows: entry("github"), greeter: bench.greeter() }));
    const startedMs = performance.now();
    const { code, stdout, stderr } = await bench.headless("greet me", env);
    expect(code).toBe(0);
    expect(stdout).toContain("good morning");
    expect(stderr).toContain("waiting for the keyring");
    expect(performance.now() - startedMs).toBeLessThan(LIMITS.secretTimeoutMs / 3);
  },
  { needs: SECRET_SERVICE, platform: "linux" },
);

scenario(
  ["G12", "G3"],
  "without a keyring or its package the reason and the cure are told",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put(
      "home/config.json",
      bench.servers({ lacks: bench.canary({ env: { X: "keyring:github" } }), greeter: bench.greeter("hello") }),
    );
    const nowhere = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent", XDG_RUNTIME_DIR: "/nonexistent" };
    const { stdout, stderr } = await bench.headless("greet me", nowhere);
    expect(stdout).toContain("hello");
    expect(stderr).toContain("this machine has no keyring (Secret Service) that can be reached");
    expect(stderr).toContain("use ${VAR}, {file:path} or !command instead");
    const set = await bench.tenonWith("s3cret", ["secret", "set", "github", "--json"], nowhere);
    expect(set.code).toBe(3);
    expect(JSON.parse(set.stdout)).toMatchObject({ error: { code: "config.unreadable" } });
    expect(set.stdout + set.stderr).not.toContain("s3cret");
    expect((await bench.tenon(["secret", "set", "github", "s3cret"], nowhere)).code).toBe(2);

    // The command line alone, as after an installation without optional packages.
    const folder = join(bench.root, "alone");
    cpSync(dirname(dirname(TENON)), folder, { recursive: true });
    const alone = await runCommand(agentNode(), [join(folder, "cli/main.js"), "secret", "check", "github"], {
      env: { PATH: process.env["PATH"] ?? "", TENON_HOME: bench.home, HOME: bench.home },
      cwd: bench.project,
    });
    expect(alone.code).toBe(3);
    expect(alone.stderr).toContain("the package @napi-rs/keyring is not installed");
    expect(bench.deeds).toEqual([]);
  },
  { platform: "linux" },
);
