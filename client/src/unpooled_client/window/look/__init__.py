"""Look of the window: the browser's colours, sizes and radii on Qt's Fusion style, its own face and icons.

tokens.css    the browser's own file, frontend/src/styles/tokens.css; a test holds them equal
style.qss     rules for widgets; `@name` is a token
icons/        drawn in `currentColor`, on a grid of 16
fonts/        Inter 4.1, Latin, Greek and Cyrillic, in two weights: 330 kB, SIL Open Font License

The face is made of the npm package inter-ui 4.1.1, with fontTools, of `web/Inter-Regular.woff2` and
`web/Inter-SemiBold.woff2`:

    pyftsubset FILE --no-hinting --notdef-outline
        --layout-features=kern,tnum,calt,ccmp,locl,mark,mkmk,sups,subs,case
        --unicodes=0-2FF,300-3FF,400-45F,490-491,1E00-1EFF,2000-209F,20AC,2100-2193,2212-221E,2248-2265
        --unicodes+=25A0-25FF,2713,2717

and is kept as TrueType, which every system reads.
"""
