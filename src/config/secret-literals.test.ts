// Secrets written out in an entry: which they are, and the same entry with references in their place.
import { describe, expect, it } from "vitest";
import { hasSecretWords, secretLiterals, withReferences } from "./secrets/mask.js";

const ENTRY = {
  command: "run",
  env: { API_KEY: "s3cret", LEVEL: "debug", DATABASE_URL: "postgres://me:pw@host/db", REF: "${API_KEY}", BANG: "!!x" },
};
const REMOTE = { url: "https://x.example", headers: { Authorization: "Bearer abc", "X-Team": "blue", "X-Token": "t" } };

describe("secrets in an entry", () => {
  it("are found by their names and their forms; references and plain values are none", () => {
    expect(secretLiterals("s", ENTRY).map(({ key, name, value }) => [key, name, value])).toEqual([
      ["env", "API_KEY", "s3cret"],
      ["env", "DATABASE_URL", "postgres://me:pw@host/db"],
    ]);
    expect(secretLiterals("s", REMOTE)).toMatchObject([
      { name: "Authorization", before: "Bearer ", value: "abc", variable: "S_AUTHORIZATION" },
      { name: "X-Token", before: "", value: "t", variable: "S_X_TOKEN", account: "s/X-Token" },
    ]);
    expect(secretLiterals("s", { url: "https://x.example", auth: { type: "bearer", token: "abc" } })).toHaveLength(1);
    expect(secretLiterals("s", { command: "run", env: [] })).toEqual([]);
  });

  it("become variables, their schemes kept", () => {
    expect(withReferences("s", ENTRY, "env")).toEqual({
      entry: { ...ENTRY, env: { ...ENTRY.env, API_KEY: "${API_KEY}", DATABASE_URL: "${DATABASE_URL}" } },
      kept: [],
    });
    expect(withReferences("2 s", REMOTE, "env").entry).toMatchObject({
      headers: { Authorization: "Bearer ${_2_S_AUTHORIZATION}", "X-Team": "blue", "X-Token": "${_2_S_X_TOKEN}" },
    });
  });

  it("go to the keyring as whole values, a bearer token as auth unless there is one", () => {
    expect(withReferences("s", REMOTE, "keyring")).toEqual({
      entry: {
        url: "https://x.example",
        headers: { "X-Team": "blue", "X-Token": "keyring:s/X-Token" },
        auth: { type: "bearer", token: "keyring:s/Authorization" },
      },
      kept: [
        { account: "s/Authorization", value: "abc" },
        { account: "s/X-Token", value: "t" },
      ],
    });
    const both = { ...REMOTE, auth: { type: "bearer", token: "${T}" } };
    expect(withReferences("s", both, "keyring")).toMatchObject({
      entry: { headers: { Authorization: "keyring:s/Authorization" }, auth: { token: "${T}" } },
      kept: [{ value: "Bearer abc" }, { value: "t" }],
    });
    const escaped = { command: "run", env: { API_KEY: "!!pa$${x}" } };
    expect(withReferences("s", escaped, "keyring").kept).toEqual([{ account: "s/API_KEY", value: "!pa${x}" }]);
  });

  it("stay where they are otherwise", () => {
    expect(withReferences("s", ENTRY, "file")).toEqual({ entry: ENTRY, kept: [] });
  });

  it("in the words of a command or an address are only told of", () => {
    expect(hasSecretWords({ command: "run", args: ["--token", "abc"] })).toBe(true);
    expect(hasSecretWords({ command: "run", args: ["postgresql://me:pw@localhost/db"] })).toBe(true);
    expect(hasSecretWords({ command: "run", args: ["--level", "debug", "postgresql://localhost/db"] })).toBe(false);
    expect(hasSecretWords({ url: "https://x.example?api_key=abc" })).toBe(true);
  });
});
