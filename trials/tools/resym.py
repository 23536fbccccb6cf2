"""resym.py OLDMODULE NEWMODULE name[=newname] ...: imports of these names from the old module come from the new one (everywhere)."""
import ast,sys,subprocess,re
from pathlib import Path
old,new=sys.argv[1:3]; names=dict((n.split("=")+[n.split("=")[0]])[:2] if "=" in n else (n,n) for n in sys.argv[3:])
def fix(t):
    try: tree=ast.parse(t)
    except SyntaxError: return t
    offs=[0]
    for l in t.splitlines(keepends=True): offs.append(offs[-1]+len(l.encode()))
    b=t.encode(); edits=[]
    for n in ast.walk(tree):
        if isinstance(n,ast.ImportFrom) and n.module==old and any(a.name in names for a in n.names):
            stay=[a for a in n.names if a.name not in names]; go=[a for a in n.names if a.name in names]
            f=lambda a,nm: nm+(f" as {a.asname}" if a.asname else "")
            ind=" "*n.col_offset
            parts=[]
            if stay: parts.append(f"from {old} import "+", ".join(f(a,a.name) for a in stay))
            parts.append(f"from {new} import "+", ".join(f(a,names[a.name]) for a in go))
            edits.append((offs[n.lineno-1]+n.col_offset,offs[n.end_lineno-1]+n.end_col_offset,("\n"+ind).join(parts)))
    for s,e,x in sorted(edits,reverse=True): b=b[:s]+x.encode()+b[e:]
    return b.decode()
for p in map(Path,subprocess.run("git ls-files -co --exclude-standard '*.py' '*.md'",shell=True,capture_output=True,text=True).stdout.split()):
    t=p.read_text()
    n=fix(t) if p.suffix==".py" else re.sub(r"```python\n(.*?)```",lambda m:"```python\n"+fix(m[1])+"```",t,flags=re.S)
    if n!=t: p.write_text(n)
