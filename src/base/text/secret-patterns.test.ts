// The strong detector, by name and value; private keys in texts that come line by line.
import { describe, expect, test } from "vitest";
import { isSecretKey, isSecretName, isSecretVariable, KeyLines, REDACTED, secretParts } from "./secrets.js";

const PAT = `github_pat_${"11ABCDEFG0abcdefghij".repeat(3)}`;

describe("isSecretVariable", () => {
  test.each([
    ["DB_PASS", "hunter2"],
    ["DB_PASSWORD", "12345"],
    ["SSH_KEY_PASSPHRASE", "correct horse"],
    ["PGPASSWORD", "x"],
    ["MYSQL_PWD", "x"],
    ["SSHPASS", "x"],
    ["dbPass", "x"],
    ["NPM_TOKEN", "abc-def"],
    ["npm_config_//registry.npmjs.org/:_authToken", "abc-def"],
    ["npm_config__auth", "abc-def"],
    ["AWS_SECRET_ACCESS_KEY", "/abc+def/ghi"],
    ["OPENAI_API_KEY", "anything"],
    ["SENTRY_DSN", "abc"],
    ["AZURE_CREDENTIALS", "{}"],
    ["CARD_PIN", "1234"],
    ["DATABASE_URL", "postgres://app:hunter2@db/x"],
    ["ODBC", "Server=db;Uid=app;Pwd=hunter2"],
    ["CONN", "host=db user=app password=hunter2"],
    ["STORAGE", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abc=="],
    ["BW_SESSION", "abc"],
    ["OP_SESSION_me", "abc"],
    ["GHTOKEN", "abc"],
    ["DB_PW", "abc"],
    ["SLACK_WEBHOOK_URL", "abc"],
    ["AZURE_STORAGE_SAS", "abc"],
    ["INNOCENT", PAT],
    ["INNOCENT", `ghp_${"a1".repeat(18)}`],
    ["INNOCENT", "AKIAABCDEFGHIJKLMNOP"],
    ["INNOCENT", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----"],
    ["SSH_KEY_FILE", "-----BEGIN PRIVATE KEY-----\nabc"],
  ])("%s is a secret", (name, value) => {
    expect(isSecretVariable(name, value)).toBe(true);
  });

  test.each([
    ["PATH", "/usr/bin:/home/a/keys/token/bin"],
    ["HOME", "/home/secret"],
    ["PWD", "/home/a"],
    ["OLDPWD", "/home/a"],
    ["LC_ALL", "C.UTF-8"],
    ["SSH_AUTH_SOCK", "/tmp/ssh/agent.1"],
    ["XAUTHORITY", "/home/a/.Xauthority"],
    ["SSH_ASKPASS", "/usr/bin/ssh-askpass"],
    ["GIT_ASKPASS", "/usr/bin/askpass"],
    ["GIT_AUTHOR_NAME", "Ada"],
    ["PROXY_BYPASS", "localhost"],
    ["COMPASS", "north"],
    ["GOOGLE_CREDENTIALS_FILE", "/home/a/key.json"],
    ["GOOGLE_APPLICATION_CREDENTIALS", "/home/a/key.json"],
    ["PASSWORD_STORE_DIR", "/home/a/.password-store"],
    ["MAX_TOKENS", "4096"],
    ["USE_AUTH", "true"],
    ["TOKENIZERS_PARALLELISM", "false"],
    ["KEYBOARD_LAYOUT", "de"],
    ["DATABASE_URL", "postgres://db/x"],
    ["GIT_REMOTE", "ssh://git@example.com/x.git"],
    ["GIT_COMMIT", "3f786850e387550fdab836ed7e6dc881de23001b"],
    ["API_KEY", ""],
  ])("%s is none", (name, value) => {
    expect(isSecretVariable(name, value)).toBe(false);
  });

  test("a hostile value of a megabyte is looked at in one pass", () => {
    const began = performance.now();
    for (const part of ["pass", "a=", "://a:", "password=", "A1 ", "-----BEGIN A PRIVATE KEY-----"]) {
      isSecretVariable(part.repeat(100), part.repeat(1_000_000 / part.length));
    }
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

test("names of headers, options and JSON keys know passwords too", () => {
  expect(["DB_PASS", "KEY_PASSPHRASE", "PGPASSWORD", "MYSQL_PWD"].filter((name) => !isSecretName(name))).toEqual([]);
  expect(["PWD", "OLDPWD", "GIT_ASKPASS"].filter((name) => isSecretName(name))).toEqual([]);
  expect(["dbPass", "db_password", "sshPassphrase"].filter((key) => !isSecretKey(key))).toEqual([]);
  expect(["pass", "max_tokens", "compass"].filter((key) => isSecretKey(key))).toEqual([]);
});

test("passwords inside addresses and connection strings are found by themselves", () => {
  expect(secretParts("postgres://app:hunter2@db/x?sslmode=on")).toEqual(["hunter2"]);
  expect(secretParts('Server=db;Password="two words";X=1')).toEqual(["two words"]);
  expect(secretParts("https://example.com/?page=2")).toEqual([]);
});

test("a private key that is printed line by line is taken out line by line", () => {
  const keys = new KeyLines();
  const lines = [
    "before",
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIE",
    "abcd==",
    "-----END RSA PRIVATE KEY----- after",
    "x",
  ];
  expect(lines.map((line) => keys.pass(line))).toEqual([
    "before",
    "-----BEGIN RSA PRIVATE KEY-----",
    REDACTED,
    REDACTED,
    `${REDACTED} after`,
    "x",
  ]);
});

test("a border that never closes hides a bounded number of lines", () => {
  const keys = new KeyLines();
  keys.pass("-----BEGIN PRIVATE KEY-----");
  const shown = Array.from({ length: 500 }, (_, at) => keys.pass(`line ${at}`)).filter((line) => line !== REDACTED);
  expect(shown[0]).toBe("line 400");
});
