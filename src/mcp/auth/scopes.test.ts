// Which scopes are asked for, in which order of authority.
import fc from "fast-check";
import { expect, test } from "vitest";
import { chooseScope, covers, scopesOf } from "./scopes.js";

test.each([
  ["the challenge comes before what the resource lists", { challenged: "a b", resourceScopes: ["c"] }, "a b"],
  ["without a challenge the resource's list is asked for", { resourceScopes: ["c", "d"] }, "c d"],
  ["the user's own words come before the resource's list", { configured: ["u"], resourceScopes: ["c"] }, "u"],
  ["the user's own words are added to a challenge", { challenged: "a", configured: ["u"] }, "a u"],
  ["nothing known is nothing asked", {}, undefined],
  ["an empty list is nothing asked", { resourceScopes: [] }, undefined],
  ["what was granted before stays", { challenged: "b", before: ["a", undefined] }, "a b"],
  [
    "offline_access is asked where it is known",
    { challenged: "a", serverScopes: ["offline_access"] },
    "a offline_access",
  ],
  ["and nowhere else", { resourceScopes: ["a", "offline_access"], serverScopes: ["a"] }, "a"],
  ["unless the user says so", { configured: ["offline_access"], serverScopes: ["a"] }, "offline_access"],
])("%s", (_name, facts, expected) => {
  expect(chooseScope({ wantsRefresh: true, ...facts })).toBe(expected);
});

test("a machine asks for no refresh", () => {
  expect(chooseScope({ challenged: "a", serverScopes: ["offline_access"], wantsRefresh: false })).toBe("a");
});

test("what is asked for covers the challenge, without repeating anything", () => {
  const scope = fc.stringMatching(/^[a-z:]{1,6}$/u);
  const scopes = fc.array(scope, { maxLength: 6 });
  fc.assert(
    fc.property(scopes, scopes, scopes, (challenged, configured, before) => {
      const asked = chooseScope({
        challenged: challenged.join(" "),
        configured,
        before: [before.join(" ")],
        wantsRefresh: false,
      });
      expect(covers(asked, challenged.join(" "))).toBe(true);
      expect(covers(asked, before.join(" "))).toBe(true);
      expect(new Set(scopesOf(asked)).size).toBe(scopesOf(asked).length);
    }),
  );
});
