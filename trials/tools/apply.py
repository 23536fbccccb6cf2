"""apply.py JSON...: mends imports of names that no longer exist, by derived renames; renames the uses."""
import ast,sys,json,subprocess,re
from pathlib import Path
sys.argv,files=[sys.argv[0]],sys.argv[1:]
src=open("/tmp/mv/rename.py").read(); ns={}
exec(src[src.index("def local_names"):src.index("files=[Path")],{"ast":ast},ns); 
g={"ast":ast}; g.update(ns); exec(src[src.index("def local_names"):src.index("files=[Path")],g); uses=g["uses"]
ren,mods={},{}
for f in files:
    d=json.load(open(f)); 
    for k,v in d["renames"].items(): ren.setdefault(k,[]).append(v)
    for k,v in d["modules"].items(): mods.setdefault(k,[]).append(v)
def modname(p):
    m=str(p)[4:-3].replace("/","."); return m[:-9] if m.endswith(".__init__") else m
paths={modname(p):p for p in Path("src/wengert").rglob("*.py")}
names={}
for m,p in paths.items():
    s=set(); t=ast.parse(p.read_text())
    for n in ast.walk(t):
        if isinstance(n,(ast.FunctionDef,ast.ClassDef)): s.add(n.name)
        elif isinstance(n,ast.Name) and isinstance(n.ctx,ast.Store): s.add(n.id)
        elif isinstance(n,(ast.Import,ast.ImportFrom)): s|={(a.asname or a.name).split(".")[0] for a in n.names}
    names[m]=s
def exists(m,n): return (m in names and n in names[m]) or f"{m}.{n}" in paths
def resolve(m,n,depth=0):
    if exists(m,n): return m,n
    if depth>6: return None
    for v in ren.get(f"{m}.{n}",[]):
        r=resolve(*v.rsplit(".",1),depth+1)
        if r: return r
    for v in mods.get(m,[]):
        r=resolve(v,n,depth+1)
        if r: return r
    for v in mods.get(f"{m}.{n}",[]):
        r=resolve(*v.rsplit(".",1),depth+1)
        if r: return r
    return None
bad=[]
def fix(t,label):
    try: tree=ast.parse(t)
    except SyntaxError: return t
    offs=[0]
    for l in t.splitlines(keepends=True): offs.append(offs[-1]+len(l.encode()))
    b=t.encode(); edits=[]
    for n in ast.walk(tree):
        if isinstance(n,ast.ImportFrom) and n.module and n.module.startswith("wengert"):
            groups={}; ch=False
            for a in n.names:
                if a.name=="*": groups.setdefault(n.module,[]).append("*"); continue
                r=resolve(n.module,a.name)
                if r is None: bad.append((label,n.module,a.name)); r=(n.module,a.name)
                if r!=(n.module,a.name): ch=True
                groups.setdefault(r[0],[]).append(r[1]+(f" as {a.asname}" if a.asname else ""))
                if r[1]!=a.name and not a.asname:
                    for u in uses(tree,a.name):
                        s=offs[u.lineno-1]+u.col_offset; edits.append((s,s+len(a.name.encode()),r[1]))
            if ch:
                ind=" "*n.col_offset
                edits.append((offs[n.lineno-1]+n.col_offset,offs[n.end_lineno-1]+n.end_col_offset,("\n"+ind).join(f"from {m} import {', '.join(dict.fromkeys(x))}" for m,x in groups.items())))
            # attribute uses of imported modules
            for a in n.names:
                full=f"{n.module}.{a.name}"
                if full in paths:
                    local=a.asname or a.name
                    for u in ast.walk(tree):
                        if isinstance(u,ast.Attribute) and isinstance(u.value,ast.Name) and u.value.id==local and not exists(full,u.attr):
                            r=resolve(full,u.attr)
                            if r and r[0]==full:
                                e=offs[u.end_lineno-1]+u.end_col_offset; edits.append((e-len(u.attr),e,r[1]))
                            elif r is None or True: bad.append((label,full,u.attr))
    for s,e,x in sorted(set(edits),reverse=True): b=b[:s]+x.encode()+b[e:]
    return b.decode()
for p in map(Path,subprocess.run("git ls-files -co --exclude-standard '*.py' '*.md'",shell=True,capture_output=True,text=True).stdout.split()):
    if not p.exists() or p.name=="CHANGELOG.md": continue
    t=p.read_text()
    n=fix(t,str(p)) if p.suffix==".py" else re.sub(r"```python\n(.*?)```",lambda m:"```python\n"+fix(m[1],str(p))+"```",t,flags=re.S)
    if n!=t: p.write_text(n)
for x in sorted(set(bad)): print("unresolved",*x)
