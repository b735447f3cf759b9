// The command line around log-ins: what is shown and kept, what is refused before anything is sent, and the terminal chat.

import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import { closeListener, listenOnLoopback } from "../../src/testing/kit/loopback.js";
import { visit } from "../../src/testing/lab/index.js";
import { filesUnder, OAuthStage } from "./oauth/stage.js";
import { scenario } from "./scenario.js";

const PAGE = /^(http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+)$/mu;

scenario(
  ["U3", "U10", "U16"],
  "over a pipe the query of the address finishes it, no browser is started, and it is said where it is kept",
  async () => {
    await using stage = await OAuthStage.open({ server: { scopes: ["mcp"] } });
    const login = stage.start(["mcp", "login", "web", "--no-browser", "--json"]);
    const page = await login.says(PAGE);
    const back = new URL(String(await visit(page)));
    login.types("this is no address");
    await login.says(/That cannot be used: that is no address/u);
    login.types(`${back.search}`);
    const { code, stdout, stderr } = await login.done;
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      server: "web",
      issuer: stage.auth.issuer,
      resource: stage.mcp.url,
      account: "default",
      isRenewable: true,
      store: { keeper: "file" },
    });
    expect(stage.browsed).toEqual([]);
    expect(stage.leaks(stdout, stderr.replaceAll(page, ""))).toEqual([]);
    const grants = join(stage.home.path, "state", "grants");
    for (const file of filesUnder(grants)) expect(statSync(file).mode & 0o777, file).toBe(0o600);
    expect(JSON.parse(readFileSync(join(grants, "vault.json"), "utf8"))).toMatchObject({ keeper: "file" });
    expect(filesUnder(join(grants)).filter((file) => file.includes("/locks/"))).toEqual([]);
  },
);

scenario(
  ["U2"],
  "what cannot be logged in to is refused with the reason and code 3, before anything is sent",
  async () => {
    await using stage = await OAuthStage.open();
    stage.configure({ web: {}, given: { headers: { Authorization: "Bearer mine" } } });
    const project = join(stage.home.path, "project");
    mkdirSync(project);
    writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers: { theirs: { url: stage.mcp.url } } }));
    for (const [server, reason] of [
      ["nobody", 'there is no server "nobody"'],
      ["given", "is given its token by its entry"],
      ["theirs", "not trusted yet"],
    ] as const) {
      const { code, stderr } = await stage.tenon(["mcp", "login", server], {}, project);
      expect([code, stderr]).toEqual([3, expect.stringContaining(reason)]);
    }
    expect((await stage.tenon(["mcp", "login"])).code).toBe(2);
    expect((await stage.tenon(["mcp", "login", "web", "--timeout", "never"])).code).toBe(2);
    expect(stage.auth.records).toEqual([]);
    expect(stage.mcp.http.requests).toEqual([]);
    expect(stage.browsed).toEqual([]);
  },
);

scenario(
  ["U2"],
  "nobody comes back: the command gives up after its time with code 4, and nothing is kept",
  async () => {
    await using stage = await OAuthStage.open();
    const env = { BROWSER_ONLY_LOOKS: "1" };
    const { code, stderr } = await stage.tenon(["mcp", "login", "web", "--timeout", "2"], env);
    expect([code, stderr]).toEqual([4, expect.stringContaining('nobody logged in to "web" within 2 s')]);
    expect(stage.browsed).toHaveLength(1);
    expect((await stage.tenon(["mcp", "logout", "web"])).stdout).toContain("There is no log-in to web here.");
  },
);

scenario(["U2"], "the port of callbackPort is used, and when it is taken that is said", async () => {
  await using stage = await OAuthStage.open();
  const taken = createServer();
  const { port } = new URL(await listenOnLoopback(taken));
  stage.configure({ web: { oauth: { callbackPort: Number(port) } } });
  const refused = await stage.tenon(["mcp", "login", "web"]);
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining(`port ${port} (callbackPort)`)]);
  await closeListener(taken);
  await stage.login();
  const [authorization] = stage.auth.recordsOf("authorize");
  expect(authorization?.params["redirect_uri"]).toBe(`http://127.0.0.1:${port}/callback`);
});

scenario(["U12", "U17"], "a second account is logged in to and out of without touching the first", async () => {
  await using stage = await OAuthStage.open();
  stage.configure({ web: {}, work: { account: "work" } });
  await stage.login("web");
  stage.auth.script({ account: "bob" });
  await stage.login("web", ["--account", "work"]);
  const whoami = async (server: string) => {
    const { stdout, stderr } = await stage.tenon(["mcp", "call", server, "whoami"]);
    return stdout + stderr;
  };
  expect(await whoami("web")).toContain("you are alice");
  expect(await whoami("work")).toContain("you are bob");
  const out = await stage.tenon(["mcp", "logout", "work", "--json"]);
  expect(JSON.parse(out.stdout)).toMatchObject({
    server: "work",
    loggedOut: [{ account: "work", revocation: "done" }],
  });
  expect(await whoami("web")).toContain("you are alice");
  const after = await stage.tenon(["mcp", "call", "work", "whoami"]);
  expect(after.stderr).toContain("tenon mcp login work");
  expect(after.code).not.toBe(0);
  expect(stage.leaks()).toEqual([]);
});

scenario(["U11", "U16"], "a log-in that died while it held a grant does not hold up the next one", async () => {
  await using stage = await OAuthStage.open();
  await stage.login();
  const held = stage.auth.hold("token");
  stage.auth.endpoints.tokens.expireAccess();
  const dying = stage.start(["mcp", "call", "web", "whoami"]);
  await held.arrived(1); // it refreshes, and so holds the grant
  dying.kill("SIGKILL");
  await dying.done;
  held.release();
  stage.auth.script({ account: "bob" });
  await stage.login();
  expect((await stage.tenon(["mcp", "call", "web", "whoami"])).stdout).toContain("you are bob");
});
