// An authorization server on the published package `oidc-provider`, with the login pages that the
// package has for trying it out: every password is right. The argument is JSON: the port, the users
// with their groups, and the resources that tokens can be requested for. Every access token is a JWT
// for one resource, and has the groups of its user.

import { generateKeyPairSync } from "node:crypto";
import { createRequire } from "node:module";

const packaged = createRequire(`${process.env.ONECALL_INTEROP_OIDC_PROVIDER}/package.json`);
const { default: Provider, errors } = packaged("oidc-provider");

const { port, users, resources } = JSON.parse(process.argv[2]);

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const key = { ...privateKey.export({ format: "jwk" }), kid: "first", alg: "RS256", use: "sig" };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys: [key] },
  scopes: ["openid", "offline_access", "tools"],
  findAccount: (_, name) =>
    users[name] && { accountId: name, claims: () => ({ sub: name }) },
  extraTokenClaims: (_, token) => ({ groups: users[token.accountId].groups }),
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_, resource) {
        if (!resources.includes(resource)) throw new errors.InvalidTarget();
        return {
          scope: "tools",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 3600,
          jwt: { sign: { alg: "RS256" } },
        };
      },
    },
  },
  formats: {
    customizers: {
      // A user with an age gets tokens that were issued that many seconds ago.
      jwt(_, token, jwt) {
        const age = users[token.accountId].age ?? 0;
        jwt.payload.iat -= age;
        jwt.payload.exp -= age;
      },
    },
  },
});

provider.listen(port, "127.0.0.1");
