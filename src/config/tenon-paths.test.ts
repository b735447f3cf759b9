// Where things are kept: in the home, wherever that was moved to, and never relative to the folder one stands in.
import { expect, test } from "vitest";
import { fakeWorld } from "../testing/index.js";
import { loadConfig, readyServers } from "./index.js";
import { possiblePaths, tenonPaths } from "./layers/paths.js";

test("in the home, or where TENON_HOME says", () => {
  expect(tenonPaths({ HOME: "/home/me" })).toMatchObject({
    configFile: "/home/me/.config/tenon/config.json",
    stateDir: "/home/me/.local/state/tenon",
    cacheDir: "/home/me/.cache/tenon",
    trustDir: "/home/me/.local/state/tenon/trust",
  });
  expect(tenonPaths({ TENON_HOME: "/t" }).stateDir).toBe("/t/state");
});

test.each([{}, { HOME: "" }, { HOME: "here" }, { HOME: ".", TENON_HOME: "there" }])(
  "without a home that is an error that says what to do: %j",
  (env) => {
    const paths = tenonPaths(env);
    for (const folder of ["stateDir", "cacheDir"] as const) {
      expect(() => paths[folder]).toThrow(
        expect.objectContaining({
          code: "config.unreadable",
          message: expect.stringContaining("HOME is not set"),
          hint: "Set HOME or TENON_HOME to a full path.",
        }),
      );
    }
    expect(possiblePaths(env)).toEqual({});
    expect(paths).toMatchObject({ configFile: undefined, trustDir: undefined });
  },
);

test("one XDG place is enough for what is kept there", () => {
  const paths = tenonPaths({ XDG_STATE_HOME: "/s" });
  expect(paths.stateDir).toBe("/s/tenon");
  expect(() => paths.cacheDir).toThrow("no place for caches");
});

test("a configuration is read without a home, servers and all", async () => {
  const env = { PATH: "/usr/bin" };
  const files = { "/usr/bin/run": "", "/project/more.json": '{"mcpServers": {"a": {"command": "run"}}}' };
  const request = { world: fakeWorld({ env, files }), cwd: "/project", commandLine: { mcpConfig: "more.json" } };
  expect(readyServers(await loadConfig(request)).map(({ name }) => name)).toEqual(["a"]);
});
