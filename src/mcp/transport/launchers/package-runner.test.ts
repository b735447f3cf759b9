// Which commands download what they run, by their names and words.
import { expect, it } from "vitest";
import { binaryName, fetchWords, isContainerRunner, packageRunner } from "./package-runners.js";

it.each([
  ["npx", ["-y", "@scope/server@1.2.3", "/dir"], { name: "npx", target: "@scope/server@1.2.3" }],
  ["/home/ada/.nvm/versions/node/v20/bin/npx", ["server"], { name: "npx", target: "server" }],
  ["npm", ["exec", "--yes", "server"], { name: "npm exec", target: "server" }],
  ["npm", ["start"], undefined],
  ["pnpm", ["dlx", "server"], { name: "pnpm dlx", target: "server" }],
  ["uvx", ["mcp-server-git", "--repository", "."], { name: "uvx", target: "mcp-server-git" }],
  ["uv", ["--directory", "/x", "run", "server.py"], { name: "uv run", target: "server.py" }],
  ["uv", ["run", "server.py"], { name: "uv run", target: "server.py" }],
  ["npx", [], { name: "npx" }],
  ["node", ["npx"], undefined],
  ["constructor", [], undefined],
])("%s %j", (command, args, runner) => {
  expect(packageRunner(command, args)).toEqual(runner);
});

it.each([
  ["npx", ["-y", "@scope/server@1.2.3", "/dir"], ["--yes", "--package=@scope/server@1.2.3", "--call", "true"]],
  ["npx", ["server@latest"], ["--yes", "--package=server@latest", "--call", "true"]],
  ["npx", ["-y", "-p", "one", "--package=two", "bin"], ["--yes", "--package=one", "--package=two", "--call", "true"]],
  ["npm", ["exec", "server"], ["exec", "--yes", "--package=server", "--call", "true"]],
  ["npx", ["-y", "./here"], undefined],
  ["npx", ["-y", "/abs"], undefined],
  ["npx", ["-y", "https://evil.test/x.tgz"], undefined],
  ["npx", [], undefined],
  ["npm", ["start"], undefined],
  ["uvx", ["server"], undefined],
])("what %s %j runs is downloaded with %j", (command, args, words) => {
  expect(fetchWords(command, args)).toEqual(words);
});

it("knows the command a package gives", () => {
  expect(["@scope/server@1.2.3", "server@latest", "server", "@scope/server"].map(binaryName)).toEqual(
    Array.from({ length: 4 }, () => "server"),
  );
});

it("knows programs that start containers", () => {
  expect(["docker", "/usr/bin/podman", "dockerize"].map(isContainerRunner)).toEqual([true, true, false]);
});
