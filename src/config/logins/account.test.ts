// Whose log-ins a server may use.
import { expect, it } from "vitest";
import { grantAccount } from "./grant-store.js";

it("keeps the log-ins of users, projects, editors and clients of one's own apart", () => {
  const accounts = [
    grantAccount({ origin: "user" }),
    grantAccount({ origin: "user", account: "work" }),
    grantAccount({ origin: "user", oauth: { clientId: "mine" } }),
    grantAccount({ origin: "project", project: "/one" }),
    grantAccount({ origin: "project", project: "/two" }),
    grantAccount({ origin: "client" }),
  ];
  expect(new Set(accounts).size).toBe(accounts.length);
  expect(accounts.slice(0, 2)).toEqual(["default", "work"]);
});

it("gives a project one account, whatever its entry says", () => {
  expect(grantAccount({ origin: "project", project: "/one", account: "work" })).toBe(
    grantAccount({ origin: "project", project: "/one" }),
  );
});
