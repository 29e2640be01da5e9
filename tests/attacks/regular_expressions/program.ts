// %% nested quantifiers
/^(a+)+$/.test("a".repeat(40) + "b");

// %% alternatives
/^(a|a)*$/.test("a".repeat(40) + "b");

// %% in a replacement
"a".repeat(50).replace(/(a*)*b/g, "");

// %% backreferences
/^(.*?,){30}P/.test(",".repeat(3000)) || /(a*)*\1c/.test("a".repeat(60));
while (true) /(x+x+)+y/.test("x".repeat(100));
